//! The headings under which `--help` groups options. They appear in the order in which a command first uses them.

pub(crate) const WHAT_TO_COPY: &str = "What to copy";
pub(crate) const WHAT_TO_PUBLISH: &str = "What to publish";
pub(crate) const DELETING: &str = "Deleting";
pub(crate) const SPEED: &str = "Speed";
pub(crate) const CREDENTIALS: &str = "Credentials";
pub(crate) const OUTPUT: &str = "Output";
pub(crate) const KEEPING: &str = "Where to keep it";
pub(crate) const CHECKING: &str = "Checking";
pub(crate) const FOLLOWING: &str = "Following";
pub(crate) const VERSIONS: &str = "Prior versions";
pub(crate) const DOCUMENTS: &str = "Documents";
pub(crate) const PACKAGES: &str = "Dumps, patches and archives";
pub(crate) const SCHEDULE: &str = "Schedule";
pub(crate) const ALERTS: &str = "Alerts";
pub(crate) const SERVING: &str = "Serving";
pub(crate) const NOTIFICATION: &str = "Notification";
pub(crate) const ADMINISTRATION: &str = "Administration";
