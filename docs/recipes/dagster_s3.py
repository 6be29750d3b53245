# Dagster: assets and logs of runs in a bucket, in the place of MinIO: `pip install dagster dagster-aws`. The logs are set in
# dagster.yaml:
#     compute_logs:
#       module: dagster_aws.s3.compute_log_manager
#       class: S3ComputeLogManager
#       config: {bucket: dagster, prefix: logs, endpoint_url: "http://localhost:9000"}
# The credentials are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
import os

from dagster import Definitions, asset
from dagster_aws.s3 import S3PickleIOManager, S3Resource


@asset
def numbers() -> list:
    return [1, 2, 3]


@asset
def total(numbers: list) -> int:
    return sum(numbers)


s3 = S3Resource(endpoint_url=os.environ.get("S3_ENDPOINT", "http://localhost:9000"), region_name="us-east-1")
defs = Definitions(
    assets=[numbers, total],
    resources={"io_manager": S3PickleIOManager(s3_resource=s3, s3_bucket="dagster", s3_prefix="assets")},
)
