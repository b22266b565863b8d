/*
Removes ChokaQ SQL and every job in it, and with them views of yours that read its tables. There is no way back but a
backup.
*/
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS chokaq CASCADE;
DROP TABLE IF EXISTS public.chokaq_schema_history;
