# Copies the extension to where a PostgreSQL server looks for it; then CREATE EXTENSION chokaq; in your database.
#
#   make install                                               the server that pg_config of the PATH belongs to
#   make install PG_CONFIG=/usr/lib/postgresql/17/bin/pg_config      another one
#
# By hand: chokaq.control and chokaq--*.sql go into the folder "extension" of what pg_config --sharedir says. PostgreSQL 18
# also takes them from the folder "extension" of a directory that its setting extension_control_path lists.

PG_CONFIG ?= pg_config
EXTENSIONS ?= $(DESTDIR)$(shell $(PG_CONFIG) --sharedir)/extension
FILES := chokaq.control $(wildcard chokaq--*.sql)

.PHONY: install uninstall

install:
	install -d "$(EXTENSIONS)"
	install -m 644 $(FILES) "$(EXTENSIONS)"

# The files only; DROP EXTENSION chokaq; in each database comes first, and drops every job there.
uninstall:
	rm -f $(addprefix "$(EXTENSIONS)"/,$(FILES))
