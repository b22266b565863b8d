/* Removes ChokaQ SQL and every job in it. There is no way back but a backup. */
DROP SCHEMA IF EXISTS chokaq CASCADE;
DROP TABLE IF EXISTS chokaq_schema_history;
