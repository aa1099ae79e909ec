//! PURE: what should be, what is held and what the operator decided become a plan. Nothing here waits, reads a clock or touches a
//! file; the rooms around it bring the values and carry out what comes of them.

mod accounting;
mod condition;
mod coverage;
mod current;
mod decide;
mod desired;
mod facts;
mod fold;
mod guard;
mod leading;
mod notification;
mod pace;
mod patch_chain;
mod place;
mod selection;
mod strategy;
mod survey;
mod version;
mod window;

pub use accounting::Accounting;
pub use condition::Condition;
pub use coverage::Coverage;
pub use current::{Currency, Fixity, currency};
pub use decide::{Decision, DecisionRules, Known, LinksNamed, Rest, decide, is_later, removal};
pub use desired::{Desired, DesiredPresence, PatchLink, PatchStep, Retrieval, resource};
pub use facts::Facts;
pub use fold::fold;
pub use guard::{Deletions, check_age, check_deletions, check_inventory_time};
pub use notification::{Standing, standing};
pub use pace::Pace;
pub use patch_chain::following;
pub use place::{Place, supersedes};
pub use selection::Selection;
pub use strategy::{Choice, Situation, Strategy, baseline, carrier_of_changes, choose, could_pay};
pub use survey::{Mark, Order, Shape, Survey, TimeSource, plausible};
pub use version::VersionKey;
pub use window::{Member, Reach, members_to_read, reach};
