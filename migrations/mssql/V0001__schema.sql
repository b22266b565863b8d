/* CREATE SCHEMA must be alone in its batch. */
CREATE SCHEMA chokaq;
