// Samples of metrics, and the changes between them.

import { buckets, quantile } from './prometheus.js';

/** The kept samples, the newest last. */
const READINGS_MAX = 180;

export const addReading = (readings, metrics) => [...readings.slice(1 - READINGS_MAX), { at: Date.now(), metrics }];

/** Codes that answer “not set” to a question about a setting. The console asks many of them. */
const UNSET = /^(NoSuch(TagSet|BucketPolicy|CORSConfiguration|LifecycleConfiguration|PublicAccessBlockConfiguration|WebsiteConfiguration)|(ServerSideEncryption|ObjectLock|Replication)ConfigurationNotFoundError|OwnershipControlsNotFoundError)$/;

/** True for the labels of an answer that is no failure. */
export const isUnset = ({ code }) => UNSET.test(code);

/** Errors per second between samples, of clients and of the server. */
export const errorsOf = (readings) => ratesOf(readings, 'liteio_request_errors_total', (it) => !isUnset(it));

/** The rate of a counter per second between samples: `[[time, value]]`. A restarted server counts from 0. */
export function ratesOf(readings, name, choose) {
  return between(readings, (before, after, seconds) => {
    const [former, latter] = [before.sum(name, choose) ?? 0, after.sum(name, choose) ?? 0];
    return (latter < former ? latter : latter - former) / seconds;
  });
}

export function gaugesOf(readings, name, choose) {
  return readings.map(({ at, metrics }) => [at, metrics.sum(name, choose)]);
}

/** A quantile of a histogram between samples; undefined without counts. */
export function quantilesOf(readings, name, share, choose) {
  return between(readings, (before, after) => quantile(buckets(before, name, choose), buckets(after, name, choose), share));
}

function between(readings, of) {
  const points = [];
  for (let i = 1; i < readings.length; i++) {
    const [before, after] = [readings[i - 1], readings[i]];
    points.push([after.at, of(before.metrics, after.metrics, Math.max(0.001, (after.at - before.at) / 1000))]);
  }
  return points;
}

/** The values of a label, the largest sums first. */
export function labelsOf(metrics, name, label) {
  const sums = new Map();
  for (const { labels, value } of metrics.all(name)) sums.set(labels[label], (sums.get(labels[label]) ?? 0) + value);
  return [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([it]) => it);
}

export const lastOf = (points) => points[points.length - 1]?.[1];
