//! The tables with rows of copies.

/// Tables in which a copy may have no row: most of them for a new copy, some for every one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CopyTable {
    Held,
    Owed,
    Gone,
    Pack,
    Document,
}

impl CopyTable {
    pub(super) const ALL: [Self; 5] = [Self::Held, Self::Owed, Self::Gone, Self::Pack, Self::Document];

    /// Returns the name of the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Owed => "owed",
            Self::Gone => "gone",
            Self::Pack => "pack",
            Self::Document => "document",
        }
    }
}
