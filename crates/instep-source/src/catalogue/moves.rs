//! Changes of all that a catalogue has, which are no changes of its resources.

use std::iter;

/// A change of all that a catalogue has. The resources stay the same ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CatalogueMove {
    /// URIs with the prefix `from` get the prefix `to`, in resources, changes and versions.
    BaseUrl { from: String, to: String },
    /// Sets get other numbers, from the first of each pair to the second, in resources and changes. All other sets are
    /// forgotten, and the resources that only these have.
    Sets(Vec<(u8, u8)>),
}

/// The numbers of sets in `tally` are raised by this one while they change: no set has a number as high.
pub(super) const ON_THE_WAY: i64 = 64;

/// Returns the sets of a row, in SQL, with the numbers that they get.
pub(super) fn renumbered(moves: &[(u8, u8)]) -> String {
    let bits = moves.iter().map(|(from, to)| format!("(((sets >> {from}) & 1) << {to})"));
    iter::once("0".to_owned()).chain(bits).collect::<Vec<_>>().join(" | ")
}
