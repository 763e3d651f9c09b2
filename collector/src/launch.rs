//! Starts the target with the agent in its environment.
