-- The key space of one cluster. `{schema}` is its name, quoted.

CREATE TABLE {schema}.meta (
    one bool PRIMARY KEY DEFAULT true CHECK (one),
    -- 16 random bytes, which the blob store of the cluster has, too.
    cluster bytea NOT NULL CHECK (length(cluster) = 16),
    -- The number of the last migration.
    format int NOT NULL,
    -- The number of the last migration that a program must know to use this schema.
    oldest_program int NOT NULL,
    -- Fingerprint of the master key of all servers.
    fingerprint bytea
);

-- One row, read by every fetch and written by changes of settings only: its versions stay on one page.
CREATE TABLE {schema}.epoch (
    one bool PRIMARY KEY DEFAULT true CHECK (one),
    n0 bigint NOT NULL,
    n1 bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO {schema}.epoch (n0, n1) VALUES (0, 0);

-- An overwrite finds room on the page of the old row, so that the index stays as it is. Values up to a page
-- stay beside their keys, and are not compressed: they are sealed or short.
CREATE TABLE {schema}.kv (
    k bytea PRIMARY KEY,
    ver bigint NOT NULL CHECK (ver > 0),
    v bytea NOT NULL
) WITH (
    fillfactor = 90,
    toast_tuple_target = 8160,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.1,
    autovacuum_analyze_scale_factor = 0.05
);
ALTER TABLE {schema}.kv ALTER k SET STORAGE PLAIN;
ALTER TABLE {schema}.kv ALTER v SET STORAGE EXTERNAL;
-- No plan asks for the distribution of values.
ALTER TABLE {schema}.kv ALTER v SET STATISTICS 0;

CREATE TABLE {schema}.counter (
    k bytea NOT NULL,
    shard int NOT NULL,
    n0 bigint NOT NULL,
    n1 bigint NOT NULL,
    n2 bigint NOT NULL,
    n3 bigint NOT NULL,
    PRIMARY KEY (k, shard)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Each number begins a block of 1,024.
CREATE SEQUENCE {schema}.event INCREMENT BY 1024 MINVALUE 1 START WITH 1;

CREATE SEQUENCE {schema}.run MINVALUE 1 MAXVALUE 8388607 NO CYCLE;

-- The runs that were begun. Their owners differ, also where a failover has lost one and its number is given again.
CREATE TABLE {schema}.process (
    run int PRIMARY KEY,
    owner uuid NOT NULL DEFAULT gen_random_uuid(),
    began timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The last number of each worker. A settlement that has taken it leaves the one that it found: no commit has it.
CREATE TABLE {schema}.worker (
    run int NOT NULL,
    worker int NOT NULL,
    number bigint NOT NULL,
    before bigint,
    PRIMARY KEY (run, worker)
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Settings for the rest of the transaction: plans that follow the index, whatever the statistics of a young table say, and an
-- end of waiting. A clause SET of each function would cost a sixth of a small commit.
CREATE FUNCTION {schema}.set_locally() RETURNS void
LANGUAGE sql VOLATILE AS $$
    SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
        set_config('jit', 'off', true), set_config('lock_timeout', '10s', true);
$$;

-- Commits a group. No row: it is committed. Otherwise nothing was written: rows with `what` 1 are those that differ from
-- what was read, 2 stands for a range that differs, and 3 for a number that is not the worker's next one.
CREATE FUNCTION {schema}.commit_group(
    of_run int, of_worker int, of_owner uuid, of_number bigint, is_first bool, group_version bigint,
    locks bigint[], are_shared bool[],
    read_keys bytea[], read_versions bigint[],
    lowers bytea[], uppers bytea[], counts bigint[], sums text[], xors bigint[],
    written_keys bytea[], expected bigint[],
    new_keys bytea[], new_values bytea[],
    kept_keys bytea[], kept_values bytea[],
    deleted_keys bytea[],
    ended_counters bytea[],
    counters bytea[], in_shard int, n0s bigint[], n1s bigint[], n2s bigint[], n3s bigint[],
    begins0 int, begins1 int
) RETURNS TABLE (what int, k bytea, ver bigint, v bytea)
LANGUAGE plpgsql VOLATILE ROWS 1
AS $$
#variable_conflict use_column
DECLARE
    found_count bigint;
    found_sum numeric;
    found_xor bigint;
    done int;
BEGIN
    -- Sessions through PgBouncer do not have the settings of others: see the function.
    IF current_setting('enable_seqscan') = 'on' THEN PERFORM {schema}.set_locally(); END IF;
    -- Each statement below has a snapshot of its own, so all of them see what the holders of these locks have committed.
    -- They are sorted: no two commits wait for each other.
    PERFORM CASE WHEN l.is_shared THEN pg_advisory_xact_lock_shared(l.id) ELSE pg_advisory_xact_lock(l.id) END
        FROM unnest(locks, are_shared) AS l(id, is_shared);

    -- Rows that are only read must not change before this commits, either: two commits, each of which reads what the other
    -- writes, would both find what they have read. So objects, bodies, uploads and references that are read are locked with what is
    -- written, in the order of the keys. The others (settings, users, counters, runs and leases) are read by most commits, and
    -- have claims.
    IF EXISTS (SELECT FROM unnest(read_keys) AS r(k) WHERE r.k >= '\x10' AND r.k < '\x36') THEN
        PERFORM 1 FROM (
            SELECT r.k FROM unnest(read_keys) AS r(k) WHERE r.k >= '\x10' AND r.k < '\x36'
            UNION SELECT w.k FROM unnest(written_keys) AS w(k) ORDER BY 1
        ) AS o, LATERAL (SELECT 1 FROM {schema}.kv WHERE kv.k = o.k FOR UPDATE) AS c;
    END IF;
    IF cardinality(read_keys) > 0 THEN
        RETURN QUERY SELECT 1, r.k, coalesce(kv.ver, 0), kv.v
            FROM unnest(read_keys, read_versions) AS r(k, ver) LEFT JOIN {schema}.kv ON kv.k = r.k
            WHERE coalesce(kv.ver, 0) <> r.ver;
        IF FOUND THEN RETURN; END IF;
    END IF;
    FOR i IN 1 .. cardinality(lowers) LOOP
        SELECT count(*), coalesce(sum(kv.ver), 0), coalesce(bit_xor(kv.ver), 0)
            INTO found_count, found_sum, found_xor
            FROM {schema}.kv WHERE kv.k >= lowers[i] AND kv.k < uppers[i];
        IF found_count <> counts[i] OR found_sum <> sums[i]::numeric OR found_xor <> xors[i] THEN
            RETURN QUERY SELECT 2, NULL::bytea, NULL::bigint, NULL::bytea;
            RETURN;
        END IF;
    END LOOP;
    -- Locks the rows that may be there, in the order of their keys, before any is written.
    IF cardinality(written_keys) > 0 THEN
        RETURN QUERY SELECT 1, w.k, coalesce(c.ver, 0), c.v
            FROM unnest(written_keys, expected) AS w(k, ver)
            LEFT JOIN LATERAL (SELECT kv.ver, kv.v FROM {schema}.kv WHERE kv.k = w.k FOR UPDATE) c ON true
            WHERE coalesce(c.ver, 0) <> w.ver;
        IF FOUND THEN RETURN; END IF;
    END IF;

    UPDATE {schema}.worker SET number = of_number, before = NULL
        WHERE run = of_run AND worker = of_worker AND number = of_number - 1;
    IF NOT FOUND THEN
        IF is_first THEN
            INSERT INTO {schema}.worker SELECT of_run, of_worker, of_number, NULL
                FROM {schema}.process WHERE run = of_run AND owner = of_owner
                ON CONFLICT DO NOTHING;
        END IF;
        IF NOT FOUND THEN
            RETURN QUERY SELECT 3, NULL::bytea, NULL::bigint, NULL::bytea;
            RETURN;
        END IF;
    END IF;

    IF cardinality(new_keys) > 0 THEN
        INSERT INTO {schema}.kv (k, ver, v)
            SELECT w.k, group_version, w.v FROM unnest(new_keys, new_values) AS w(k, v)
            ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS done = ROW_COUNT;
        -- Somebody without the claim was here a moment ago.
        IF done <> cardinality(new_keys) THEN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END IF;
    END IF;
    IF cardinality(kept_keys) > 0 THEN
        INSERT INTO {schema}.kv AS kv (k, ver, v)
            SELECT w.k, group_version, w.v FROM unnest(kept_keys, kept_values) AS w(k, v)
            ON CONFLICT (k) DO UPDATE SET ver = excluded.ver, v = excluded.v;
    END IF;
    IF cardinality(deleted_keys) > 0 THEN
        DELETE FROM {schema}.kv USING unnest(deleted_keys) AS d(k) WHERE kv.k = d.k;
    END IF;
    IF cardinality(ended_counters) > 0 THEN
        PERFORM 1 FROM {schema}.counter WHERE counter.k = ANY (ended_counters) ORDER BY counter.k, shard FOR UPDATE;
        DELETE FROM {schema}.counter WHERE counter.k = ANY (ended_counters);
    END IF;
    IF cardinality(counters) > 0 THEN
        INSERT INTO {schema}.counter AS c (k, shard, n0, n1, n2, n3)
            SELECT a.k, in_shard, a.n0, a.n1, a.n2, a.n3
            FROM unnest(counters, n0s, n1s, n2s, n3s) AS a(k, n0, n1, n2, n3)
            ON CONFLICT (k, shard) DO UPDATE
            SET n0 = c.n0 + excluded.n0, n1 = c.n1 + excluded.n1, n2 = c.n2 + excluded.n2, n3 = c.n3 + excluded.n3;
    END IF;
    -- Last, because all commits that begin an epoch wait for this row.
    IF begins0 + begins1 > 0 THEN
        -- A version never comes twice. A number that is counted would, after a failover that has lost commits.
        UPDATE {schema}.epoch SET
            n0 = CASE begins0 WHEN 0 THEN n0 ELSE group_version END,
            n1 = CASE begins1 WHEN 0 THEN n1 ELSE group_version END
            WHERE one;
    END IF;
END $$;

-- Takes a worker's number, if no commit has it, and tells the number of the last commit: `of_number` itself if it was committed.
-- Again, it tells the same. Waits for a commit that is still running. Writes in any case, so that the answer waits for the standby
-- as the commit would have.
CREATE FUNCTION {schema}.settle(
    of_run int, of_worker int, of_owner uuid, of_number bigint, is_first bool
) RETURNS TABLE (last bigint, is_committed bool, is_ours bool)
LANGUAGE plpgsql VOLATILE ROWS 1
AS $$
#variable_conflict use_column
DECLARE
    owned bool;
BEGIN
    -- A failover may have lost the run: it is this process's for as long as no other has begun it.
    INSERT INTO {schema}.process (run, owner) VALUES (of_run, of_owner) ON CONFLICT DO NOTHING;
    SELECT p.owner = of_owner INTO owned FROM {schema}.process p WHERE p.run = of_run;
    IF owned IS NOT TRUE THEN
        RETURN QUERY SELECT 0::bigint, false, false;
        RETURN;
    END IF;
    INSERT INTO {schema}.worker (run, worker, number, before)
        VALUES (of_run, of_worker, of_number, CASE WHEN is_first THEN of_number - 1 ELSE 0 END)
        ON CONFLICT DO NOTHING;
    RETURN QUERY UPDATE {schema}.worker
        SET number = greatest(number, of_number), before = CASE WHEN number < of_number THEN number ELSE before END
        WHERE run = of_run AND worker = of_worker
        RETURNING CASE WHEN number = of_number THEN coalesce(before, number) ELSE number END, before IS NULL AND number = of_number, true;
END $$;

-- The first of `count` numbers in a row. A block holds them if there are few and none is too small; otherwise the sequence is
-- moved, while nobody else takes numbers.
CREATE FUNCTION {schema}.take_numbers(count int, floor bigint, lock bigint, is_alone bool) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    first bigint;
BEGIN
    IF NOT is_alone THEN
        PERFORM pg_advisory_xact_lock_shared(lock);
        first := nextval('{schema}.event');
        IF first >= floor AND count <= 1024 THEN RETURN first; END IF;
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(lock);
    first := nextval('{schema}.event');
    IF first < floor THEN first := (floor + 1022) / 1024 * 1024 + 1; END IF;
    PERFORM setval('{schema}.event', first + (count - 1) / 1024 * 1024, true);
    RETURN first;
END $$;

-- The place of the delimiter in the text of a key, which begins behind `skip` bytes and ends at `text_end`; 0 if there is none.
CREATE FUNCTION {schema}.place_of(k bytea, delimiter bytea, skip int, text_end bytea) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN length(text_end) = 0 OR position(text_end IN substring(k FROM skip + 1)) = 0
        THEN position(delimiter IN substring(k FROM skip + 1))
        ELSE position(delimiter IN substring(k FROM skip + 1 FOR position(text_end IN substring(k FROM skip + 1)) - 1)) END
$$;

-- The first bytes behind all that begin with these; NULL if there are none.
CREATE FUNCTION {schema}.behind(prefix bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    kept bytea := rtrim(prefix, '\xff'::bytea);
BEGIN
    IF length(kept) = 0 THEN RETURN NULL; END IF;
    RETURN set_byte(kept, length(kept) - 1, get_byte(kept, length(kept) - 1) + 1);
END $$;

-- The entries of a grouped range, in order: rows, and groups, which have no version. It takes steps from group to group while
-- it meets groups, and pages of rows while it meets rows: a step costs as much as four rows of a page. Ends with a row
-- without a key if it has read `bytes` of values and the range may have more.
-- It is not safe for parallel plans, so the statement that calls it runs in one process, in order.
CREATE FUNCTION {schema}.grouped(
    lower bytea, upper bytea, delimiter bytea, skip int, text_end bytea, most int, bytes bigint
) RETURNS TABLE (k bytea, ver bigint, v bytea)
LANGUAGE plpgsql STABLE ROWS 1000
AS $$
#variable_conflict use_column
DECLARE
    -- Where the next statement begins; NULL behind the last key.
    next bytea := lower;
    -- Behind a delimiter in the same place, unless it is of bytes 0xFF alone.
    behind_delimiter bytea := {schema}.behind(delimiter);
    prefix bytea;
    row record;
    keys bytea[];
    places int[];
    entries int := 0;
    reads int;
    rows int;
    size int := least(16, most);
    is_paging bool := false;
    is_done bool;
BEGIN
    IF current_setting('enable_seqscan') = 'on' THEN PERFORM {schema}.set_locally(); END IF;
    WHILE next IS NOT NULL AND entries < most LOOP
        reads := 0;
        rows := 0;
        is_done := true;
        IF is_paging THEN
            prefix := NULL;
            FOR row IN
                SELECT kv.k, {schema}.place_of(kv.k, delimiter, skip, text_end) AS place, kv.ver, kv.v
                FROM {schema}.kv WHERE kv.k >= next AND kv.k < upper ORDER BY kv.k LIMIT size
            LOOP
                reads := reads + 1;
                CONTINUE WHEN substring(row.k FOR length(prefix)) = prefix;
                IF row.place = 0 THEN
                    prefix := NULL;
                    rows := rows + 1;
                    k := row.k; ver := row.ver; v := row.v;
                    bytes := bytes - octet_length(v);
                ELSE
                    k := substring(row.k FOR skip + row.place - 1 + length(delimiter)); ver := NULL; v := NULL;
                    prefix := k;
                END IF;
                RETURN NEXT;
                entries := entries + 1;
                IF entries = most OR bytes <= 0 THEN is_done := false; EXIT; END IF;
            END LOOP;
            next := CASE WHEN prefix IS NULL THEN row.k || '\x00'::bytea ELSE {schema}.behind(prefix) END;
        ELSE
            -- Without values, which rows alone need.
            WITH RECURSIVE step (k, place, n) AS (
                (SELECT kv.k, {schema}.place_of(kv.k, delimiter, skip, text_end), 1
                FROM {schema}.kv WHERE kv.k >= next AND kv.k < upper ORDER BY kv.k LIMIT 1)
                UNION ALL
                SELECT x.k, {schema}.place_of(x.k, delimiter, skip, text_end), s.n + 1
                FROM step s, LATERAL (
                    SELECT kv.k FROM {schema}.kv
                    WHERE kv.k >= CASE
                            WHEN s.place = 0 THEN s.k || '\x00'::bytea
                            WHEN behind_delimiter IS NULL
                                THEN {schema}.behind(substring(s.k FOR skip + s.place - 1 + length(delimiter)))
                            ELSE substring(s.k FOR skip + s.place - 1) || behind_delimiter END
                        AND kv.k < upper
                    ORDER BY kv.k LIMIT 1
                ) x WHERE s.n < size
            ) SELECT array_agg(s.k), array_agg(s.place) INTO keys, places FROM step s;
            reads := coalesce(cardinality(keys), 0);
            IF reads = 0 THEN RETURN; END IF;
            IF 0 = ANY (places) THEN
                FOR i IN 1 .. reads LOOP
                    IF places[i] = 0 THEN
                        SELECT kv.k, kv.ver, kv.v INTO k, ver, v FROM {schema}.kv WHERE kv.k = keys[i];
                        rows := rows + 1;
                        bytes := bytes - octet_length(v);
                    ELSE
                        k := substring(keys[i] FOR skip + places[i] - 1 + length(delimiter)); ver := NULL; v := NULL;
                    END IF;
                    RETURN NEXT;
                    entries := entries + 1;
                    IF entries = most OR bytes <= 0 THEN is_done := false; EXIT; END IF;
                END LOOP;
            ELSE
                RETURN QUERY SELECT substring(g.k FOR skip + g.place - 1 + length(delimiter)), NULL::bigint, NULL::bytea
                    FROM unnest(keys, places) AS g(k, place);
                k := substring(keys[reads] FOR skip + places[reads] - 1 + length(delimiter)); ver := NULL;
                entries := entries + reads;
            END IF;
            next := CASE WHEN ver IS NULL THEN {schema}.behind(k) ELSE k || '\x00'::bytea END;
        END IF;
        EXIT WHEN is_done AND reads < size;
        IF bytes <= 0 THEN
            k := NULL; ver := NULL; v := NULL;
            RETURN NEXT;
            RETURN;
        END IF;
        -- Rows of groups that a page has read for nothing count as groups.
        is_paging := rows * 2 > reads;
        size := least(greatest(size * 4, 16), most - entries, 1024);
        size := greatest(size, 1);
    END LOOP;
END $$;
