//! The form of the tables in a schema.

/// The form of tables: the steps of each kind that were made, in the order of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TablesForm {
    pub(crate) version: u32,
    pub(crate) additions: u32,
}
