-- PostGIS with its rasters, whose libraries have names of their own.
CREATE EXTENSION postgis;
CREATE EXTENSION postgis_raster;

SELECT judge.same('geometry', 'CREATE TABLE %1$s (a int PRIMARY KEY, g geometry(Point, 4326), p geometry); CREATE INDEX ON %1$s USING gist (g); CREATE INDEX ON %1$s USING spgist (p);
		CREATE INDEX ON %1$s USING brin (g); CREATE INDEX ON %1$s (p)',
	$$SELECT i, format('SRID=4326;POINT(%s %s)', i % 100, i / 100), format('POLYGON((0 0, %s 0, 3 3, 0 0))', i) FROM generate_series(1, 2000) i$$, 't',
	ARRAY[$$g && ST_MakeEnvelope(10, 3, 12, 9, 4326)$$, $$p = 'POLYGON((0 0, 7 0, 3 3, 0 0))'$$]);
SELECT judge.same('geography', 'CREATE TABLE %1$s (a int, g geography); CREATE INDEX ON %1$s USING gist (g)',
	$$SELECT i, format('POINT(%s %s)', i % 100, i / 100) FROM generate_series(1, 2000) i$$, 't', ARRAY[$$ST_DWithin(g, 'POINT(7 3)', 150000)$$]);
SELECT judge.same('boxes', 'CREATE TABLE %1$s (b box2d, c box3d)', $$SELECT format('BOX(0 0,%s 1)', i), format('BOX3D(0 0 0,%s 1 1)', i) FROM generate_series(1, 100) i$$);
SELECT judge.same('geometry by an expression', 'CREATE TABLE %1$s (x float8, y float8, g geometry GENERATED ALWAYS AS (ST_SetSRID(ST_MakePoint(x, y), 4326)) STORED,
		CHECK (ST_X(g) >= 0)); CREATE INDEX ON %1$s USING gist (ST_Buffer(g, 1))',
	$$SELECT i % 100, i / 100 FROM generate_series(1, 1000) i$$, 't', ARRAY[$$ST_Buffer(g, 1) && ST_MakeEnvelope(10, 3, 12, 9, 4326)$$], '{x,y}');
SELECT judge.same('raster', 'CREATE TABLE %1$s (a int, r raster, CHECK (ST_Width(r) = 16)); CREATE INDEX ON %1$s USING gist (ST_ConvexHull(r))',
	$$SELECT i, ST_AddBand(ST_MakeEmptyRaster(16, 16, i, i, 1, -1, 0, 0, 4326), '32BF'::text, i, 0)::text FROM generate_series(1, 200) i$$,
	'ROW(t.a, t.r::text)', ARRAY[$$ST_ConvexHull(r) && ST_MakeEnvelope(10, 3, 12, 9, 4326)$$]);
SELECT judge.forgives('geometry(Point,4326)', 'SRID=4326;POINT(1 1)', 'POINT(1');
SELECT judge.forgives('geography', 'POINT(1 1)', 'POINT(1');
SELECT judge.forgives('box2d', 'BOX(0 0,1 1)', 'BOX(0');
SELECT judge.forgives('box3d', 'BOX3D(0 0 0,1 1 1)', 'BOX3D(0');
SELECT judge.forgives('raster', ST_MakeEmptyRaster(1, 1, 0, 0, 1)::text, 'no raster');

-- GDAL's libraries before and after this one
CREATE TABLE names (a int);
COPY (SELECT 1) TO '/proc/self/cwd/neighbour_names.csv';
\connect
SELECT judge.verdict(postgis_gdal_version() LIKE 'GDAL%' AND rows_loaded = 1, 'first GDAL, then a load') FROM bulk_load('names', '/proc/self/cwd/neighbour_names.csv');
\connect
SELECT judge.verdict(rows_loaded = 1, 'first a load, ...') FROM bulk_load('names', '/proc/self/cwd/neighbour_names.csv');
SET postgis.gdal_enabled_drivers = 'ENABLE_ALL';
SELECT judge.verdict(ST_Width(ST_FromGDALRaster(ST_AsPNG(ST_AddBand(ST_MakeEmptyRaster(4, 4, 0, 0, 1), '8BUI'::text, 1, 0)))) = 4, '... then GDAL');
