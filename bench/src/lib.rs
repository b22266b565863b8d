//! Placeholder until its first module arrives.
