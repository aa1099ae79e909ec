//! Channels and subscriptions: only ever a hint to look now.
