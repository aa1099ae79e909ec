//! PURE: desired states, held resources and the operator's options become a plan. Nothing here waits, reads a clock
//! or accesses a file; other modules provide the values and carry out the result.

mod accounting;
mod condition;
mod coverage;
mod current;
mod decide;
mod desired;
mod difference;
mod fold;
mod guard;
mod leading;
mod metadata;
mod notification;
mod pace;
mod patch_chain;
mod place;
mod removal;
mod selection;
mod strategy;
mod survey;
mod version;
mod window;

pub use accounting::Accounting;
pub(crate) use condition::Condition;
pub use coverage::Coverage;
pub(crate) use current::{Currency, Fixity, currency, may_hide_changes, share_no_algorithm};
pub(crate) use decide::{Decision, DecisionRules, Known, LinksNamed, Rest, decide, deciding_time, is_later};
pub(crate) use desired::{Desired, DesiredPresence, PatchLink, PatchStep, Retrieval, resource};
pub(crate) use difference::packed_difference;
pub(crate) use fold::fold;
pub(crate) use guard::{Deletions, check_age, check_deletions, check_inventory_time};
pub use metadata::ResourceMetadata;
pub(crate) use notification::{Standing, standing};
pub(crate) use pace::Pace;
pub(crate) use patch_chain::following;
pub(crate) use place::{Place, supersedes};
pub(crate) use removal::removal;
pub(crate) use selection::Selection;
pub use strategy::Strategy;
pub(crate) use strategy::{Choice, Situation, baseline, carrier_of_changes, choose, could_pay};
pub(crate) use survey::{Mark, Shape, Survey, plausible};
pub(crate) use version::VersionKey;
pub(crate) use window::{
    IndexMember, Reach, count_repeated, is_other_time, members_to_read, put_oldest_first, reach,
};
