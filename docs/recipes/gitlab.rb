# GitLab (omnibus, /etc/gitlab/gitlab.rb): uploads, artifacts, LFS and packages in buckets, in the place of MinIO. The chart has the
# same connection in a Secret (global.appConfig.object_store), with global.minio.enabled=false.
#     liteio server --bucket gitlab-artifacts --bucket gitlab-lfs --bucket gitlab-uploads --bucket gitlab-packages
gitlab_rails['object_store']['enabled'] = true
gitlab_rails['object_store']['proxy_download'] = true
gitlab_rails['object_store']['connection'] = {
  'provider' => 'AWS',
  'endpoint' => 'http://s3.example.com:9000',
  'region' => 'us-east-1',
  'path_style' => true,
  'aws_access_key_id' => 'gitlab',
  'aws_secret_access_key' => 'a-secret-key',
}
gitlab_rails['object_store']['objects']['artifacts']['bucket'] = 'gitlab-artifacts'
gitlab_rails['object_store']['objects']['lfs']['bucket'] = 'gitlab-lfs'
gitlab_rails['object_store']['objects']['uploads']['bucket'] = 'gitlab-uploads'
gitlab_rails['object_store']['objects']['packages']['bucket'] = 'gitlab-packages'
