#![doc = include_str!("../README.md")]

mod alert;
mod cause;
mod definition;
mod error;
mod fleet;
mod import;
mod index;
mod name;
mod options;
mod place;
mod record;
mod schedule;
mod share;
mod standing;
mod survey;

pub use alert::{Alert, AlertKind};
pub use cause::LookCause;
pub use definition::{SourceDefinition, plain_url};
pub use error::FleetError;
pub use fleet::{Fleet, FleetFigures, FleetMonitor};
pub use import::{ImportFormat, ImportedList, ImportedSource, import};
pub use index::{SourceColumn, SourcePage, SourceRequest};
pub use name::SourceName;
pub use options::FleetOptions;
pub use place::FleetPlace;
pub use record::{AuditLine, FleetRecord, FleetWorker, LookSample, SourceOperation};
pub use schedule::{Cadence, LONGEST_PAUSE, PacingRules, SourceQueue};
pub use standing::{FleetSource, SourceStanding, SourceState};
pub use survey::{BrokenRule, SourceSurvey, SurveyedDocument, SurveyedLink};
