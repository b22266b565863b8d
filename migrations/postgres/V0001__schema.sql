/* Whatever a role may do here is granted by name. */
CREATE SCHEMA chokaq;

REVOKE ALL ON SCHEMA chokaq FROM PUBLIC;
