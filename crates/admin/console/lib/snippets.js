// Texts to copy: how clients reach this server.

/** Files and snippets for a key. `secret` is a placeholder unless the key is new. */
export function snippets({ endpoint, region, id, secret }) {
  // The SDKs for JavaScript, Go, Java and Rust read AWS_REGION; boto3 and the AWS CLI read AWS_DEFAULT_REGION.
  const env = [
    `AWS_ACCESS_KEY_ID=${id}`, `AWS_SECRET_ACCESS_KEY=${secret}`, `AWS_REGION=${region}`, `AWS_DEFAULT_REGION=${region}`,
    `AWS_ENDPOINT_URL=${endpoint}`,
  ];
  return [
    ['env', '.env', `${env.join('\n')}\n`],
    ['aws', 'AWS CLI', `${env.map((it) => `export ${it}`).join('\n')}\naws s3 ls\n`],
    ['python', 'boto3', `import boto3

s3 = boto3.client(
    "s3",
    endpoint_url="${endpoint}",
    region_name="${region}",
    aws_access_key_id="${id}",
    aws_secret_access_key="${secret}",
)
print(s3.list_buckets()["Buckets"])
`],
    ['javascript', 'JavaScript', `import { ListBucketsCommand, S3Client } from "@aws-sdk/client-s3";

const s3 = new S3Client({
  endpoint: "${endpoint}",
  region: "${region}",
  forcePathStyle: true,
  credentials: { accessKeyId: "${id}", secretAccessKey: "${secret}" },
});
console.log((await s3.send(new ListBucketsCommand({}))).Buckets);
`],
    ['mc', 'mc', `mc alias set liteio ${endpoint} ${id} ${secret}\nmc ls liteio\n`],
  ];
}

/** The file of credentials that AWS's programs read. */
export const credentialsFile = ({ endpoint, region, id, secret }) =>
  `[liteio]\naws_access_key_id = ${id}\naws_secret_access_key = ${secret}\nregion = ${region}\nendpoint_url = ${endpoint}\n`;

/** How clients of Iceberg reach the catalog of a bucket. */
export const tableSnippets = ({ endpoint, bucket, id, secret }) => [
  ['pyiceberg', 'PyIceberg', `from pyiceberg.catalog.rest import RestCatalog

catalog = RestCatalog(
    "liteio",
    uri="${endpoint}/_iceberg",
    warehouse="${bucket}",
    credential="${id}:${secret}",
    **{"oauth2-server-uri": "${endpoint}/_iceberg/v1/oauth/tokens"},
)
print(catalog.list_namespaces())
`],
  ['duckdb', 'DuckDB', `create secret (type iceberg, client_id '${id}', client_secret '${secret}',
    oauth2_server_uri '${endpoint}/_iceberg/v1/oauth/tokens');
attach '${bucket}' as lake (type iceberg, endpoint '${endpoint}/_iceberg');
show all tables;
`],
  ['spark', 'Spark', `spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions
spark.sql.catalog.lake=org.apache.iceberg.spark.SparkCatalog
${Object.entries({
    type: 'rest', uri: `${endpoint}/_iceberg`, warehouse: bucket, credential: `${id}:${secret}`,
    'oauth2-server-uri': `${endpoint}/_iceberg/v1/oauth/tokens`, 'token-exchange-enabled': 'false',
    'io-impl': 'org.apache.iceberg.aws.s3.S3FileIO', 'header.X-Iceberg-Access-Delegation': 'vended-credentials',
  }).map(([name, value]) => `spark.sql.catalog.lake.${name}=${value}\n`).join('')}`],
];
