//! The tables whose rows a run need not look for if the copy has none.

/// A table in which a copy may have no row: most of them for a new copy, some for any copy.
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
