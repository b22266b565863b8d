/*
Removes ChokaQ SQL and every job in it, and with them views of yours that read its tables. There is no way back but a
backup. The roles chokaq_reader, chokaq_worker, chokaq_operator and chokaq_admin belong to the whole server and stay: drop
them when no database of it has the kit any more.
*/
SET client_min_messages = warning;
DROP SCHEMA IF EXISTS chokaq CASCADE;
DROP TABLE IF EXISTS public.chokaq_schema_history;
