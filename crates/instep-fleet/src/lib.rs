#![doc = include_str!("../README.md")]

mod alert;
mod definition;
mod error;
mod fleet;
mod import;
mod index;
mod name;
mod options;
mod record;
mod schedule;
mod standing;
mod survey;

pub use alert::{Alert, AlertKind};
pub use definition::SourceDefinition;
pub use error::FleetError;
pub use fleet::{Fleet, FleetFigures, FleetMonitor, SourceOperation};
pub use import::{ImportFormat, ImportedSource, import};
pub use index::{SourceColumn, SourcePage, SourceRequest};
pub use name::SourceName;
pub use options::FleetOptions;
pub use record::{AuditLine, FleetRecord, LookSample};
pub use schedule::{Cadence, PacingRules, SourceQueue};
pub use standing::{FleetSource, SourceStanding, SourceState};
pub use survey::{BrokenRule, SourceSurvey, SurveyedDocument, SurveyedLink};
