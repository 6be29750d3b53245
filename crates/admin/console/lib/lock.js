// The lock of a version: its retention, its legal hold, its event hold.

import { pathOf, putDocument } from './api.js';
import { writeXml } from './xml.js';

/** The lock that the headers of a version tell. */
export function lockOf({ headers }) {
  const at = (name) => headers[`x-amz-object-lock-${name}`] ?? '';
  const [days, years] = [at('event-hold-duration-days'), at('event-hold-duration-years')];
  return {
    mode: at('mode'), until: at('retain-until-date'), legal: at('legal-hold') === 'ON', event: at('event-hold') === 'ON',
    count: days || years, unit: years ? 'Years' : 'Days',
  };
}

const put = (bucket, key, version, what, document, headers = {}) =>
  putDocument({ path: pathOf(bucket, key), query: { [what]: '', versionId: version || undefined }, headers }, document);

/**
 * Retention and event hold, which are one document. While a hold is on, the retention ends its duration from now, and a
 * date is only a time before which it does not end.
 */
export function putRetention(bucket, key, version, { mode, until, event, count, unit }, former, bypass) {
  const hold = event ? { EventHold: 'ON', EventHoldDuration: count ? { [unit]: count } : undefined } : former.event ? { EventHold: 'OFF' } : {};
  const document = writeXml('Retention', mode ? { Mode: mode, RetainUntilDate: until || undefined, ...hold } : {});
  return put(bucket, key, version, 'retention', document, bypass ? { 'x-amz-bypass-governance-retention': 'true' } : {});
}

export const putLegalHold = (bucket, key, version, isOn) =>
  put(bucket, key, version, 'legal-hold', writeXml('LegalHold', { Status: isOn ? 'ON' : 'OFF' }));
