//! The causes of failed looks that an operator can remove. The record keeps their names. PURE.

use instep_destination::{Error, Guard, Permission};

/// The cause of a failed look, if an operator can remove it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookCause {
    /// More resources would be deleted than the operator allows.
    TooManyDeletions,
    /// The folder has a copy of another Source.
    OtherSource,
    /// A server asks for a login.
    NoLogin,
}

impl LookCause {
    const ALL: [Self; 3] = [Self::TooManyDeletions, Self::OtherSource, Self::NoLogin];

    /// Returns the cause behind an error; `None` for all that need no other advice than their exit code.
    pub(crate) fn of(error: &Error) -> Option<Self> {
        match error {
            Error::Refused { guard: Guard::MaxDelete, .. } => Some(Self::TooManyDeletions),
            Error::Refused { guard: Guard::OtherSource, .. } => Some(Self::OtherSource),
            _ if error.lacks() == Some(Permission::Login) => Some(Self::NoLogin),
            _ => None,
        }
    }

    /// Returns its name, as the record keeps it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::TooManyDeletions => "too-many-deletions",
            Self::OtherSource => "other-source",
            Self::NoLogin => "no-login",
        }
    }

    /// Returns the cause of a name; `None` for one that only a later version knows.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_a_failure_is_its_kind_and_not_its_text() {
        let refused = |guard| Error::Refused { guard, what: "would delete another Source: 401".to_owned() };
        assert_eq!(LookCause::of(&refused(Guard::MaxDelete)), Some(LookCause::TooManyDeletions));
        assert_eq!(LookCause::of(&refused(Guard::OtherSource)), Some(LookCause::OtherSource));
        assert_eq!(LookCause::of(&refused(Guard::Empty)), None);
        let unusable = |lacks| Error::NotResourceSync { url: String::new(), reasons: Vec::new(), lacks };
        assert_eq!(LookCause::of(&unusable(Some(Permission::Login))), Some(LookCause::NoLogin));
        assert_eq!(LookCause::of(&unusable(None)), None);
        for cause in LookCause::ALL {
            assert_eq!(LookCause::named(cause.as_str()), Some(cause));
        }
        assert_eq!(LookCause::named("of-a-later-version"), None);
    }
}
