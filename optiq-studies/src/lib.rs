//! Published claims shown again, races against other systems, and the pages with their results.
