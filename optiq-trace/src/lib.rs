//! Records of what happened during an exchange: the format of a rank's file, clocks, and how files of several ranks are merged.
