//! A simulated Source: generated resources, changes and faults. All follow from a seed, so that a run can be repeated.

mod faults;
mod generated;

pub(crate) use faults::Faults;
pub(crate) use generated::{Generated, SimulatedChanges};

/// Returns a number that follows from a seed and a purpose (SplitMix64).
fn draw(seed: u64, purpose: u64, number: u64) -> u64 {
    let mut mixed = seed
        ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ number.wrapping_add(1).wrapping_mul(0xd134_2543_de82_ef95);
    mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
