//! Failures of object storage, each in one line that says what to do.

/// A request that failed, or settings that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct BucketError {
    what: String,
    fault: Option<ObjectFault>,
}

/// A fault that callers treat in their own way: of one object, while others may be readable, or of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectFault {
    /// It is not there.
    Missing,
    /// It ends before its part does.
    Short,
    /// It is another one than the one whose start was read.
    Replaced,
    /// These credentials may not have it.
    Denied,
    /// The service cannot be reached, breaks off connections, or answers that it cannot serve now.
    Away,
}

impl BucketError {
    /// Returns an error with its text, in one line.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), fault: None }
    }

    /// Returns an error that concerns one object only.
    #[cfg(feature = "s3")]
    pub(crate) fn of_object(fault: ObjectFault, what: String) -> Self {
        Self { what, fault: Some(fault) }
    }

    /// Returns an error that the service answered; `is_denied` is `true` if it refuses these credentials.
    #[cfg(feature = "s3")]
    pub(crate) fn answering(what: String, is_denied: bool) -> Self {
        Self { what, fault: is_denied.then_some(ObjectFault::Denied) }
    }

    /// Returns an error of the service as a whole; `is_away` is `true` if another attempt may succeed soon.
    #[cfg(feature = "s3")]
    pub(crate) fn of_service(what: String, is_away: bool) -> Self {
        Self { what, fault: is_away.then_some(ObjectFault::Away) }
    }

    /// Returns `true` if the service could not be reached or could not serve: it may be over in a moment.
    pub fn may_pass(&self) -> bool {
        self.fault == Some(ObjectFault::Away)
    }

    /// Returns `true` if the bucket has no such object.
    pub fn is_missing(&self) -> bool {
        self.fault == Some(ObjectFault::Missing)
    }

    /// Returns `true` if the object ends before the requested part.
    pub fn is_short(&self) -> bool {
        self.fault == Some(ObjectFault::Short)
    }

    /// Returns `true` if the object was replaced since its start was read.
    pub fn is_replaced(&self) -> bool {
        self.fault == Some(ObjectFault::Replaced)
    }

    /// Returns `true` if the service denies the request to these credentials.
    pub fn is_denied(&self) -> bool {
        self.fault == Some(ObjectFault::Denied)
    }
}

/// A URL that names no place in object storage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{url:?} {what}; write s3://bucket/prefix")]
pub struct InvalidPlace {
    pub(crate) url: String,
    pub(crate) what: &'static str,
}
