import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.exceptions.NotAuthorizedException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.S3Object;

/** Spark SQL on the catalog, with the settings of docs/tables.md. Each test has a namespace of its own. */
class SparkTest {
    private static final String ENDPOINT = System.getenv("ENDPOINT");
    private static final String ACCESS_KEY = System.getenv("ACCESS_KEY");
    private static final String SECRET_KEY = System.getenv("SECRET_KEY");
    private static final String SETTING = "spark.sql.catalog.lake";
    private static SparkSession spark;
    private static S3Client s3;
    private String namespace;
    private String orders;

    @BeforeAll
    static void start() throws Exception {
        var builder = SparkSession.builder().master("local[2]")
            .config("spark.ui.enabled", false)
            .config("spark.sql.shuffle.partitions", 2)
            .config("spark.sql.session.timeZone", "UTC")
            // To compile each statement costs more than it saves with a few rows.
            .config("spark.sql.codegen.wholeStage", false);
        documented().forEach(builder::config);
        spark = builder.getOrCreate();
        s3 = S3Client.builder().endpointOverride(URI.create(ENDPOINT)).region(Region.US_EAST_1).forcePathStyle(true)
            .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create(ACCESS_KEY, SECRET_KEY)))
            .build();
    }

    @AfterAll
    static void stop() {
        spark.stop();
        s3.close();
    }

    @BeforeEach
    void makeNamespace(TestInfo test) {
        namespace = "lake." + test.getTestMethod().orElseThrow().getName().toLowerCase();
        orders = namespace + ".orders";
        spark.sql("CREATE NAMESPACE IF NOT EXISTS " + namespace);
    }

    /** The settings as they are in the document, with the address and the keys of this server and nothing else changed. */
    private static Map<String, String> documented() throws Exception {
        var settings = new LinkedHashMap<String, String>();
        for (var line : Files.readAllLines(Path.of("docs/tables.md"))) {
            if (line.startsWith("spark.sql.")) {
                var parts = line.replace("http://127.0.0.1:9000", ENDPOINT)
                    .replace("ACCESS-KEY:SECRET-KEY", ACCESS_KEY + ":" + SECRET_KEY).split("=", 2);
                settings.put(parts[0], parts[1]);
            }
        }
        return settings;
    }

    private static List<String> rows(SparkSession session, String sql) {
        return session.sql(sql).collectAsList().stream().map(Row::toString).collect(Collectors.toList());
    }

    private static List<String> rows(String sql) {
        return rows(spark, sql);
    }

    /** What a session reads that has no copy of the table yet. */
    private static List<String> committed(String sql) {
        return rows(spark.newSession(), sql);
    }

    private static List<String> keys(String prefix) {
        return s3.listObjectsV2Paginator(request -> request.bucket("lake").prefix(prefix)).contents().stream()
            .map(S3Object::key).collect(Collectors.toList());
    }

    /** The keys below the location of a table. */
    private static List<String> files(String location) {
        assertTrue(location.startsWith("s3://lake/"), location);
        return keys(location.substring("s3://lake/".length()) + "/");
    }

    private static String location(String table) {
        return spark.sql("DESCRIBE TABLE EXTENDED " + table).where("col_name = 'Location'").first().getString(1);
    }

    private static List<Long> snapshots(String table) {
        return spark.sql("SELECT snapshot_id FROM " + table + ".snapshots ORDER BY committed_at").collectAsList().stream()
            .map(row -> row.getLong(0)).collect(Collectors.toList());
    }

    private static boolean causedBy(Throwable error, Class<?> cause) {
        return error != null && (cause.isInstance(error) || causedBy(error.getCause(), cause));
    }

    private void makeOrders(String properties) {
        spark.sql("CREATE TABLE " + orders + " USING iceberg PARTITIONED BY (region) " + properties
            + " AS SELECT * FROM VALUES (1, 'north', 10), (2, 'south', 20), (3, 'north', 30) AS t (id, region, amount)");
    }

    private List<String> allOrders() {
        return rows("SELECT * FROM " + orders + " ORDER BY id");
    }

    @Test
    void namespaces() {
        spark.sql("CREATE NAMESPACE " + namespace + ".inner COMMENT 'of sales' WITH PROPERTIES (team = 'one')");
        assertEquals(List.of("[namespaces.inner]"), rows("SHOW NAMESPACES IN " + namespace));
        spark.sql("ALTER NAMESPACE " + namespace + ".inner SET PROPERTIES (team = 'two')");
        var properties = rows("DESCRIBE NAMESPACE EXTENDED " + namespace + ".inner");
        assertTrue(properties.containsAll(List.of("[Comment,of sales]", "[Properties,((team,two))]")), properties.toString());
        assertThrows(Exception.class, () -> spark.sql("CREATE NAMESPACE " + namespace + ".inner"));

        spark.sql("CREATE TABLE " + namespace + ".inner.ids (id INT) USING iceberg");
        assertThrows(Exception.class, () -> spark.sql("DROP NAMESPACE " + namespace + ".inner"));
        assertEquals(List.of("[namespaces.inner,ids,false]"), rows("SHOW TABLES IN " + namespace + ".inner"));
        spark.sql("DROP TABLE " + namespace + ".inner.ids");
        spark.sql("DROP NAMESPACE " + namespace + ".inner");
        assertEquals(List.of(), rows("SHOW NAMESPACES IN " + namespace));
    }

    @Test
    void createAsSelectAndInsert() {
        spark.sql("CREATE TABLE " + orders + " USING iceberg PARTITIONED BY (days(at), region) AS SELECT * FROM VALUES"
            + " (1L, 'north', 10.50BD, TIMESTAMP'2026-01-01 10:00:00', array('a', 'b')),"
            + " (2L, 'south', NULL, TIMESTAMP'2026-01-02 23:59:59.123456', array())"
            + " AS t (id, region, price, at, tags)");
        var one = "[1,north,10.50,2026-01-01 10:00:00.0,[a, b]]";
        var two = "[2,south,null,2026-01-02 23:59:59.123456,[]]";
        var all = "SELECT id, region, price, at, CAST(tags AS STRING) FROM " + orders + " ORDER BY id";
        assertEquals(List.of(one, two), rows(all));
        spark.sql("INSERT INTO " + orders + " VALUES (3, 'north', 30.00, TIMESTAMP'2026-01-01 00:00:00', NULL)");
        assertEquals(List.of(one, two, "[3,north,30.00,2026-01-01 00:00:00.0,null]"), rows(all));
        assertEquals(List.of("[2026-01-01,north,2]", "[2026-01-02,south,1]"),
            rows("SELECT partition.at_day, partition.region, record_count FROM " + orders + ".partitions ORDER BY 1"));
        spark.sql("INSERT OVERWRITE " + orders + " SELECT * FROM " + orders + " WHERE id = 2");
        assertEquals(List.of(two), rows(all));

        // Replaced by another schema and other partitions, in one commit; the snapshots before it stay.
        spark.sql("CREATE OR REPLACE TABLE " + orders + " USING iceberg AS SELECT 7 AS number");
        assertEquals(List.of("[7]"), rows("SELECT * FROM " + orders));
        assertEquals(4, snapshots(orders).size());
    }

    @Test
    void createAsSelectThatFailsMakesNoTable() {
        assertThrows(Exception.class, () -> spark.sql("CREATE TABLE " + orders
            + " USING iceberg AS SELECT if(id = 3, raise_error('no'), id) AS id FROM range(5)"));
        assertEquals(List.of(), rows("SHOW TABLES IN " + namespace));
        makeOrders("");
        assertThrows(Exception.class, () -> makeOrders(""));
        assertEquals(3, allOrders().size());
    }

    @ParameterizedTest
    @CsvSource({"copy-on-write,2", "merge-on-read,2", "merge-on-read,3"})
    void mergeUpdateAndDelete(String mode, String format) {
        makeOrders(String.format("TBLPROPERTIES ('format-version' = '%2$s', 'write.merge.mode' = '%1$s',"
            + " 'write.update.mode' = '%1$s', 'write.delete.mode' = '%1$s')", mode, format));
        // Two rows of one file, since the deletion of all rows of a file needs no list of rows.
        spark.sql("INSERT INTO " + orders + " SELECT /*+ COALESCE(1) */ * FROM VALUES (4, 'east', 40), (5, 'east', 50), (6, 'east', 60)");
        spark.sql("MERGE INTO " + orders + " t USING (SELECT * FROM VALUES (1, 'north', 11), (2, 'south', 0), (4, 'east', 0), (9, 'west', 90)"
            + " AS s (id, region, amount)) s ON t.id = s.id"
            + " WHEN MATCHED AND s.amount = 0 THEN DELETE"
            + " WHEN MATCHED THEN UPDATE SET amount = s.amount"
            + " WHEN NOT MATCHED THEN INSERT *");
        assertEquals(List.of("[1,north,11]", "[3,north,30]", "[5,east,50]", "[6,east,60]", "[9,west,90]"), allOrders());
        spark.sql("UPDATE " + orders + " SET amount = amount + 1, region = upper(region) WHERE id IN (3, 5)");
        assertEquals(List.of("[1,north,11]", "[3,NORTH,31]", "[5,EAST,51]", "[6,east,60]", "[9,west,90]"), allOrders());
        spark.sql("DELETE FROM " + orders + " WHERE amount > 55 AND id < 9");
        // Whole partitions: no data file is read.
        spark.sql("DELETE FROM " + orders + " WHERE region = 'west'");
        assertEquals(List.of("[1,north,11]", "[3,NORTH,31]", "[5,EAST,51]"), allOrders());
        assertEquals(List.of("[1,north,11]", "[3,NORTH,31]", "[5,EAST,51]"), committed("SELECT * FROM " + orders + " ORDER BY id"));

        var formats = rows("SELECT DISTINCT file_format FROM " + orders + ".all_delete_files");
        assertEquals(mode.equals("copy-on-write") ? List.of() : List.of(format.equals("3") ? "[PUFFIN]" : "[PARQUET]"), formats);
        spark.sql("DROP TABLE " + orders + " PURGE");
    }

    @Test
    void alterTable() {
        makeOrders("");
        spark.sql("ALTER TABLE " + orders + " ADD COLUMNS (note STRING COMMENT 'free text' AFTER id)");
        spark.sql("ALTER TABLE " + orders + " RENAME COLUMN amount TO total");
        spark.sql("ALTER TABLE " + orders + " ALTER COLUMN total TYPE BIGINT");
        spark.sql("ALTER TABLE " + orders + " ADD PARTITION FIELD bucket(4, id) AS shard");
        spark.sql("INSERT INTO " + orders + " VALUES (4, 'new', 'south', 5000000000)");
        assertEquals(List.of("[1,null,north,10]", "[2,null,south,20]", "[3,null,north,30]", "[4,new,south,5000000000]"), allOrders());
        assertEquals(List.of("[0,3]", "[1,1]"),
            rows("SELECT spec_id, sum(record_count) FROM " + orders + ".files GROUP BY spec_id ORDER BY spec_id"));
        spark.sql("ALTER TABLE " + orders + " DROP PARTITION FIELD region");
        spark.sql("ALTER TABLE " + orders + " DROP COLUMN note");
        spark.sql("ALTER TABLE " + orders + " SET TBLPROPERTIES ('owner-team' = 'sales')");
        spark.sql("ALTER TABLE " + orders + " WRITE ORDERED BY id");
        assertEquals(List.of("[owner-team,sales]"), rows("SHOW TBLPROPERTIES " + orders + " ('owner-team')"));
        assertEquals(List.of("id int", "region string", "total bigint"),
            rows("DESCRIBE TABLE " + orders).stream().limit(3).map(row -> row.replaceAll("^\\[(\\w+),(\\w+),.*", "$1 $2"))
                .collect(Collectors.toList()));
        // Spark takes the new name inside of the catalog.
        spark.sql("ALTER TABLE " + orders + " RENAME TO altertable.renamed");
        assertEquals(List.of("[1,north,10]", "[2,south,20]", "[3,north,30]", "[4,south,5000000000]"),
            rows("SELECT * FROM " + namespace + ".renamed ORDER BY id"));
        assertEquals(List.of("[altertable,renamed,false]"), rows("SHOW TABLES IN " + namespace));
    }

    @Test
    void timeTravel() {
        makeOrders("");
        var first = snapshots(orders).get(0);
        spark.sql("ALTER TABLE " + orders + " CREATE TAG opened");
        spark.sql("DELETE FROM " + orders + " WHERE region = 'north'");
        spark.sql("ALTER TABLE " + orders + " ADD COLUMN note STRING");
        spark.sql("INSERT INTO " + orders + " VALUES (4, 'west', 40, 'new')");
        var before = List.of("[1,north,10]", "[2,south,20]", "[3,north,30]");
        assertEquals(List.of("[2,south,20,null]", "[4,west,40,new]"), allOrders());
        assertEquals(before, rows("SELECT * FROM " + orders + " VERSION AS OF " + first + " ORDER BY id"));
        assertEquals(before, rows("SELECT * FROM " + orders + " VERSION AS OF 'opened' ORDER BY id"));
        var time = spark.sql("SELECT committed_at FROM " + orders + ".snapshots WHERE snapshot_id = " + first).first().getTimestamp(0);
        assertEquals(before, rows("SELECT * FROM " + orders + " TIMESTAMP AS OF '" + time.toInstant() + "' ORDER BY id"));

        spark.sql("ALTER TABLE " + orders + " CREATE BRANCH trial");
        spark.sql("INSERT INTO " + orders + ".branch_trial VALUES (5, 'east', 50, 'trial')");
        assertEquals(2, allOrders().size());
        assertEquals(3, rows("SELECT * FROM " + orders + " VERSION AS OF 'trial'").size());
        spark.sql("CALL lake.system.fast_forward('" + orders.substring(5) + "', 'main', 'trial')");
        assertEquals(List.of("[2,south,20,null]", "[4,west,40,new]", "[5,east,50,trial]"), allOrders());
        spark.sql("CALL lake.system.rollback_to_snapshot('" + orders.substring(5) + "', " + first + ")");
        assertEquals(List.of("[1,north,10,null]", "[2,south,20,null]", "[3,north,30,null]"), allOrders());
    }

    @Test
    void maintenance() {
        makeOrders("");
        var location = location(orders);
        var first = snapshots(orders).get(0);
        spark.sql("INSERT INTO " + orders + " VALUES (4, 'north', 40)");
        spark.sql("INSERT INTO " + orders + " VALUES (5, 'north', 50)");
        var rewritten = spark.sql("CALL lake.system.rewrite_data_files(table => '" + orders.substring(5)
            + "', options => map('rewrite-all', 'true'))").first();
        assertTrue(rewritten.getInt(0) >= 4 && rewritten.getInt(1) == 2, rewritten.toString());
        var all = List.of("[1,north,10]", "[2,south,20]", "[3,north,30]", "[4,north,40]", "[5,north,50]");
        assertEquals(all, allOrders());

        var now = Instant.now();
        spark.sql("CALL lake.system.expire_snapshots(table => '" + orders.substring(5) + "', older_than => TIMESTAMP '" + now
            + "', retain_last => 1)");
        assertEquals(1, snapshots(orders).size());
        assertEquals(all, committed("SELECT * FROM " + orders + " ORDER BY id"));
        assertThrows(Exception.class, () -> rows("SELECT * FROM " + orders + " VERSION AS OF " + first));
        assertEquals(2, files(location).stream().filter(key -> key.endsWith(".parquet")).count());
    }

    @Test
    void views() {
        makeOrders("");
        var view = namespace + ".north";
        spark.sql("CREATE VIEW " + view + " (number COMMENT 'id of the order', amount) COMMENT 'northern'"
            + " AS SELECT id, amount FROM " + orders + " WHERE region = 'north'");
        assertEquals(List.of("[1,10]", "[3,30]"), rows("SELECT * FROM " + view + " ORDER BY number"));
        spark.sql("INSERT INTO " + orders + " VALUES (4, 'north', 40)");
        assertEquals(List.of("[1,10]", "[3,30]", "[4,40]"), committed("SELECT * FROM " + view + " ORDER BY number"));
        assertThrows(Exception.class, () -> spark.sql("CREATE VIEW " + view + " AS SELECT 1 AS one"));
        spark.sql("CREATE OR REPLACE VIEW " + view + " AS SELECT sum(amount) AS total FROM " + orders);
        assertEquals(List.of("[100]"), rows("SELECT * FROM " + view));
        spark.sql("ALTER VIEW " + view + " SET TBLPROPERTIES ('team' = 'sales')");
        spark.sql("ALTER VIEW " + view + " RENAME TO " + namespace + ".total");
        assertEquals(List.of("[views,total,false]"), rows("SHOW VIEWS IN " + namespace));
        assertEquals(List.of("[100]"), committed("SELECT * FROM " + namespace + ".total"));
        spark.sql("DROP VIEW " + namespace + ".total");
        assertEquals(List.of(), rows("SHOW VIEWS IN " + namespace));
    }

    @Test
    void dropKeepsFilesAndPurgeDeletesThem() {
        makeOrders("");
        var location = location(orders);
        var before = files(location);
        assertTrue(before.stream().anyMatch(key -> key.endsWith(".parquet")), before.toString());
        spark.sql("DROP TABLE " + orders);
        assertEquals(before, files(location));
        assertEquals(List.of(), rows("SHOW TABLES IN " + namespace));

        var metadata = before.stream().filter(key -> key.endsWith(".metadata.json")).max(String::compareTo).orElseThrow();
        spark.sql("CALL lake.system.register_table('" + orders.substring(5) + "', 's3://lake/" + metadata + "')");
        assertEquals(List.of("[1,north,10]", "[2,south,20]", "[3,north,30]"), allOrders());
        spark.sql("DROP TABLE " + orders + " PURGE");
        assertEquals(List.of(), files(location));
        assertEquals(List.of(), rows("SHOW TABLES IN " + namespace));
    }

    @Test
    void anotherSessionReadsAndContinues() {
        makeOrders("");
        var other = spark.newSession();
        assertEquals(List.of("[1,north,10]", "[2,south,20]", "[3,north,30]"), rows(other, "SELECT * FROM " + orders + " ORDER BY id"));
        other.sql("UPDATE " + orders + " SET amount = 0 WHERE id = 2");
        spark.sql("REFRESH TABLE " + orders);
        assertEquals(List.of("[1,north,10]", "[2,south,0]", "[3,north,30]"), allOrders());
    }

    /** Runs the statements of two writers at once, each in a session of its own. Those that another commit refuses are sent again. */
    private static int atOnce(int rounds, IntFunction<IntFunction<String>> writers) throws Exception {
        var together = new CyclicBarrier(2);
        var threads = Executors.newFixedThreadPool(2);
        try {
            Stream<Callable<Integer>> tasks = IntStream.range(0, 2).mapToObj(writer -> () -> {
                var session = spark.newSession();
                var refused = 0;
                for (var round = 0; round < rounds; round++) {
                    together.await();
                    while (!succeeds(session, writers.apply(writer).apply(round))) {
                        refused++;
                    }
                }
                return refused;
            });
            var refused = 0;
            for (var result : threads.invokeAll(tasks.collect(Collectors.toList()))) {
                refused += result.get();
            }
            return refused;
        } finally {
            threads.shutdownNow();
        }
    }

    private static boolean succeeds(SparkSession session, String sql) {
        try {
            session.sql(sql);
            return true;
        } catch (Exception error) {
            if (!causedBy(error, ValidationException.class)) {
                throw error;
            }
            return false;
        }
    }

    @Test
    void insertsAtOnceAreAllThere() throws Exception {
        makeOrders("");
        var refused = atOnce(4, writer -> round ->
            String.format("INSERT INTO %s VALUES (%d, 'writer %d', %d)", orders, 100 + 10 * writer + round, writer, round));
        assertEquals(0, refused, "an append excludes no other");
        var expected = new ArrayList<>(List.of("[1,north,10]", "[2,south,20]", "[3,north,30]"));
        for (var writer = 0; writer < 2; writer++) {
            for (var round = 0; round < 4; round++) {
                expected.add(String.format("[%d,writer %d,%d]", 100 + 10 * writer + round, writer, round));
            }
        }
        assertEquals(expected, committed("SELECT * FROM " + orders + " ORDER BY id"));
    }

    /** Both count in the same row, so no commit may go by the state before another one. */
    @Test
    void mergesAtOnceLoseNothing() throws Exception {
        makeOrders("");
        var refused = atOnce(3, writer -> round -> String.format("MERGE INTO %s t USING (SELECT * FROM VALUES (1, 'north', 1), (%d, 'west', %d)"
            + " AS s (id, region, amount)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET amount = t.amount + 1 WHEN NOT MATCHED THEN INSERT *",
            orders, 100 + 10 * writer + round, round));
        assertTrue(refused > 0, "the writers did not meet");
        assertEquals(List.of("[1,north,16]", "[2,south,20]", "[3,north,30]", "[100,west,0]", "[101,west,1]", "[102,west,2]",
            "[110,west,0]", "[111,west,1]", "[112,west,2]"), committed("SELECT * FROM " + orders + " ORDER BY id"));
        assertEquals(List.of("[7]"), committed("SELECT count(*) FROM " + orders + ".snapshots"));
    }

    @Test
    void wrongSecretMakesNothing() throws Exception {
        var before = keys("");
        var session = spark.newSession();
        documented().forEach((name, value) -> {
            if (name.startsWith(SETTING)) {
                session.conf().set(name.replace(SETTING, "spark.sql.catalog.wrong"), name.endsWith(".credential") ? value + "-not" : value);
            }
        });
        for (var sql : List.of("CREATE NAMESPACE wrong.made", "CREATE TABLE wrong.wrongsecretmakesnothing.made USING iceberg AS SELECT 1 AS id")) {
            var error = assertThrows(Exception.class, () -> session.sql(sql));
            assertTrue(causedBy(error, NotAuthorizedException.class), error.toString());
        }
        assertFalse(rows("SHOW NAMESPACES IN lake").contains("[made]"));
        assertEquals(List.of(), rows("SHOW TABLES IN " + namespace));
        assertEquals(before, keys(""));
    }
}
