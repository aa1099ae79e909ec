//! One small client: scope, politeness, retry.
