"""The pages that tests of all pages visit, and what is on them."""

from conftest import client
from test_tables import a_view, catalog_of, orders

# A page, what is seen on it when it is there, and what is clicked then.
PAGES = [
    ("home", "Connect", None),
    ("buckets", "New bucket", None), ("buckets", "New bucket", "New bucket"), ("buckets/seen", "a.txt", None),
    ("buckets/seen?versions=1", "2 versions", None), ("buckets/none", "NoSuchBucket", None),
    *[(f"buckets/seen?key=a.txt&tab={tab}", "Overview", None) for tab in ("overview", "preview", "metadata", "share", "versions")],
    *[(f"buckets/seen/settings/{part}", "Versioning", None) for part in ("overview", "quota", "ownership", "website", "versioning", "policy", "lifecycle", "cors", "encryption", "replication", "events", "tags", "public-access")],
    ("users", "New user", None), ("users/groups", "New group", None), ("users/policies", "New policy", None), ("users/roles", "New role", "New role"), ("users", "New user", "New user"), ("users/user/seen-user", "seen-user", None),
    ("vectors", "New vector bucket", None), ("vectors", "New vector bucket", "New vector bucket"), ("vectors/seen", "euclidean", None),
    ("vectors/seen", "euclidean", "New index"), ("vectors/seen/films", "first", None), ("vectors/seen/films", "first", "first"), ("vectors/seen/films", "first", "Put vectors"),
    ("vectors/seen/films?tab=query", "Nearest to", None), ("vectors/seen/films?tab=about", "ARN", None), ("vectors/seen/none", "NotFound", None),
    ("catalogs", "New table bucket", "New table bucket"), ("catalogs/seen-lake", "sales", None), ("catalogs/seen-lake", "sales", "New namespace"), ("catalogs/seen-lake/empty", "DuckDB", None), ("catalogs/seen-lake/sales", "View", None),
    *[(f"catalogs/seen-lake/sales/tables/orders?tab={tab}", words, None) for tab, words in
      [("overview", "Partitioned by"), ("schema", "6 columns"), ("snapshots", "2 snapshots"), ("rows", "The first 1 row of 1"), ("maintenance", "Compaction")]],
    ("catalogs/seen-lake/sales/tables/orders", "Partitioned by", "Drop"), ("catalogs/seen-lake/sales/tables/none", "NoSuchTableException", None), ("catalogs/seen-lake/sales/views/ids", "select", None),
    ("metrics", "Buckets by size", None), ("metrics", "Buckets by size", "Table: Requests per second"),
]


def fill(server):
    """What the pages show."""
    s3, iam = client(server), client(server, "iam")
    s3.create_bucket(Bucket="seen")
    s3.put_bucket_versioning(Bucket="seen", VersioningConfiguration={"Status": "Enabled"})
    s3.put_object(Bucket="seen", Key="a.txt", Body=b"text", Metadata={"m": "1"})
    s3.put_object(Bucket="seen", Key="folder/b.json", Body=b"{}")
    iam.create_user(UserName="seen-user")
    s3vectors = client(server, "s3vectors")
    s3vectors.create_vector_bucket(vectorBucketName="seen")
    s3vectors.create_index(vectorBucketName="seen", indexName="films", dataType="float32", dimension=2, distanceMetric="euclidean")
    s3vectors.put_vectors(vectorBucketName="seen", indexName="films", vectors=[{"key": "first", "data": {"float32": [1, 2]}, "metadata": {"a": "b"}}])
    s3.create_bucket(Bucket="seen-lake")
    catalog = catalog_of(server, "seen-lake")
    for namespace in ("sales", "empty"):
        catalog.create_namespace(namespace)
    orders(catalog, properties={"colour": "green"})
    a_view(server, "seen-lake")
