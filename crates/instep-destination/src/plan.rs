//! PURE: held state, remote entries, checkpoint and policy to a plan.

mod condition;
mod current;
mod fold;
mod guard;
mod notification;
mod pace;
mod selection;
mod strategy;
mod survey;
mod window;

pub use condition::Condition;
pub use current::{Currency, Facts, currency};
pub use fold::{Place, Wanted, supersedes, wanted};
pub use guard::{Deletions, check_age, check_deletions, check_inventory_time};
pub use notification::{Standing, standing};
pub use pace::Pace;
pub use selection::Selection;
pub use strategy::{Choice, Situation, Strategy, baseline, carrier_of_changes, choose, could_pay};
pub use survey::{Mark, Order, Shape, Survey, TimeSource, passed};
pub use window::{Member, Reach, members_to_read, reach};
