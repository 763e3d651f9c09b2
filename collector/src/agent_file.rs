//! Where the agent library lies so that target processes can load it.
