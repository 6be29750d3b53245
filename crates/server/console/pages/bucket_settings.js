export const BucketSettings = () => null;
