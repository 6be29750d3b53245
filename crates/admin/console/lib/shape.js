// Bucket settings: conversion between S3's XML and the JSON of the AWS CLI. Elements that a shape does not name keep
// their own name in both directions, so that no setting of another client is lost.

import { escapeXml } from './xml.js';

const NAME = /^[A-Za-z_][\w.-]*$/;

/** Repeated elements, as a list named `name` in the JSON. */
const list = (name, shape = {}) => ({ name, shape, isList: true });
const as = (name, shape = {}) => ({ name, shape });
const part = (shape) => ({ shape });
const number = part('number');
const yes = part('boolean');

const rules = {
  Filter: part({ Tag: part({}), And: part({ Tag: list('Tags'), ObjectSizeGreaterThan: number, ObjectSizeLessThan: number }),
    ObjectSizeGreaterThan: number, ObjectSizeLessThan: number }),
  Expiration: part({ Days: number, ExpiredObjectDeleteMarker: yes }),
  Transition: list('Transitions', { Days: number }),
  NoncurrentVersionTransition: list('NoncurrentVersionTransitions', { NoncurrentDays: number, NewerNoncurrentVersions: number }),
  NoncurrentVersionExpiration: part({ NoncurrentDays: number, NewerNoncurrentVersions: number }),
  AbortIncompleteMultipartUpload: part({ DaysAfterInitiation: number }),
};
const notification = (arn, name) => ({
  [arn]: as(name), Event: list('Events'), Filter: part({ S3Key: as('Key', { FilterRule: list('FilterRules') }) }),
});

/** The documents: their root, and their shape. */
export const SHAPES = {
  versioning: ['VersioningConfiguration', {}],
  'object-lock': ['ObjectLockConfiguration', { Rule: part({ DefaultRetention: part({ Days: number, Years: number }) }) }],
  encryption: ['ServerSideEncryptionConfiguration', {
    Rule: list('Rules', { ApplyServerSideEncryptionByDefault: part({}), BucketKeyEnabled: yes }),
  }],
  lifecycle: ['LifecycleConfiguration', { Rule: list('Rules', rules) }],
  publicAccessBlock: ['PublicAccessBlockConfiguration', {
    BlockPublicAcls: yes, IgnorePublicAcls: yes, BlockPublicPolicy: yes, RestrictPublicBuckets: yes,
  }],
  cors: ['CORSConfiguration', {
    CORSRule: list('CORSRules', {
      AllowedHeader: list('AllowedHeaders'), AllowedMethod: list('AllowedMethods'), AllowedOrigin: list('AllowedOrigins'),
      ExposeHeader: list('ExposeHeaders'), MaxAgeSeconds: number,
    }),
  }],
  notification: ['NotificationConfiguration', {
    TopicConfiguration: list('TopicConfigurations', notification('Topic', 'TopicArn')),
    QueueConfiguration: list('QueueConfigurations', notification('Queue', 'QueueArn')),
    CloudFunctionConfiguration: list('LambdaFunctionConfigurations', notification('CloudFunction', 'LambdaFunctionArn')),
    EventBridgeConfiguration: part({}),
  }],
  website: ['WebsiteConfiguration', { RedirectAllRequestsTo: part({}), IndexDocument: part({}), ErrorDocument: part({}) }],
  ownershipControls: ['OwnershipControls', { Rule: list('Rules', { ObjectOwnership: part({}) }) }],
  tagging: ['Tagging', { TagSet: part({ Tag: list('Tags') }) }],
};

/** The JSON of an element. */
export function fromXml(element, shape = {}) {
  if (shape === 'number') return Number.isSafeInteger(Number(element.text)) ? Number(element.text) : element.text;
  if (shape === 'boolean') return element.text === 'true' ? true : element.text === 'false' ? false : element.text;
  if (!element.children.length && !Object.keys(shape).length) return element.text;
  const value = {};
  for (const child of element.children) {
    const { name = child.name, shape: inner, isList } = (Object.hasOwn(shape, child.name) && shape[child.name]) || {};
    const it = fromXml(child, inner);
    if (isList || Array.isArray(value[name])) (value[name] ??= []).push(it);
    else value[name] = name in value ? [value[name], it] : it;
  }
  return value;
}

/** The XML of a JSON value. */
export function toXml(name, value, shape = {}) {
  if (value === undefined || value === null) return '';
  if (!NAME.test(name)) throw new Error(`“${name}” is not a valid setting name.`);
  if (Array.isArray(value)) return value.map((item) => toXml(name, item, shape)).join('');
  if (typeof value !== 'object') return `<${name}>${escapeXml(value)}</${name}>`;
  const inner = Object.entries(value).map(([member, it]) => {
    const [element, { shape: of } = {}] = Object.entries(shape).find(([tag, made]) => (made.name ?? tag) === member) ?? [member];
    return toXml(element, it, of);
  });
  return `<${name}>${inner.join('')}</${name}>`;
}
