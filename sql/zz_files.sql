--
-- The last one: removes all files of the tests from the server's folder.
--
COPY (SELECT 1) TO PROGRAM 'cat > pgbulk_gone; rm -f pgbulk_*';
SELECT name FROM pg_ls_dir('.') name WHERE name ~ 'pgbulk';
