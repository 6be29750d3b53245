// Users, groups and policies, by the IAM API; the state of a user, by the API of MinIO’s client.

import { send, sendForXml } from './api.js';

/** Sends an operation. */
async function call(action, fields = {}) {
  const pairs = Object.entries({ Action: action, Version: '2010-05-08', ...fields }).filter(([, value]) => value !== undefined);
  const body = pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
  const xml = await sendForXml({ service: 'iam', method: 'POST', path: '/', headers, body });
  return xml.find(`${action}Result`) ?? xml;
}

/** All members of a paged list; `path` is the list element of a page. */
async function all(action, path, fields = {}) {
  const found = [];
  let result, Marker;
  do {
    result = await call(action, { ...fields, Marker, MaxItems: 1000 });
    found.push(...result.all(`${path}/member`));
    Marker = result.get('IsTruncated') === 'true' ? result.get('Marker') : undefined;
  } while (Marker);
  return found;
}

const entity = (kind) => (it) => ({
  name: it.get(`${kind}Name`), id: it.get(`${kind}Id`), arn: it.get('Arn'), path: it.get('Path'), created: it.get('CreateDate'),
});
const userOf = entity('User');
const groupOf = entity('Group');

export const listUsers = async () => (await all('ListUsers', 'Users')).map(userOf);
export const getUser = async (name) => userOf((await call('GetUser', { UserName: name })).find('User'));
export const createUser = (name) => call('CreateUser', { UserName: name });
export const listKeys = async (name) => (await all('ListAccessKeys', 'AccessKeyMetadata', { UserName: name })).map((it) => ({
  id: it.get('AccessKeyId'), isActive: it.get('Status') === 'Active', created: it.get('CreateDate'),
}));
export async function createKey(name) {
  const key = (await call('CreateAccessKey', { UserName: name })).find('AccessKey');
  return { id: key.get('AccessKeyId'), secret: key.get('SecretAccessKey') };
}
export const setKeyActive = (name, key, is) =>
  call('UpdateAccessKey', { UserName: name, AccessKeyId: key, Status: is ? 'Active' : 'Inactive' });
export const deleteKey = (name, key) => call('DeleteAccessKey', { UserName: name, AccessKeyId: key });

const ADMIN = '/minio/admin/v3';

/** True if a user is enabled; undefined without the permission to ask. */
export async function isEnabled(name) {
  try {
    const response = await send({ path: `${ADMIN}/user-info`, query: { accessKey: name } });
    return (await response.json()).status !== 'disabled';
  } catch {
    return undefined;
  }
}
export const setEnabled = (name, is) =>
  send({ method: 'PUT', path: `${ADMIN}/set-user-status`, query: { accessKey: name, status: is ? 'enabled' : 'disabled' } });

export const listGroups = async () => (await all('ListGroups', 'Groups')).map(groupOf);
export const groupsOf = async (user) => (await all('ListGroupsForUser', 'Groups', { UserName: user })).map(groupOf);
export async function getGroup(name) {
  const group = groupOf((await call('GetGroup', { GroupName: name, MaxItems: 1 })).find('Group'));
  return { ...group, members: (await all('GetGroup', 'Users', { GroupName: name })).map(userOf) };
}
export const createGroup = (name) => call('CreateGroup', { GroupName: name });
export const join = (group, user) => call('AddUserToGroup', { GroupName: group, UserName: user });
export const leave = (group, user) => call('RemoveUserFromGroup', { GroupName: group, UserName: user });

const roleOf = (it) => ({
  ...entity('Role')(it), trust: documentOf(it.get('AssumeRolePolicyDocument')), hours: Number(it.get('MaxSessionDuration') ?? 3600) / 3600, description: it.get('Description'),
});
export const listRoles = async () => (await all('ListRoles', 'Roles')).map(roleOf);
export const getRole = async (name) => roleOf((await call('GetRole', { RoleName: name })).find('Role'));
export const createRole = (name, trust) => call('CreateRole', { RoleName: name, AssumeRolePolicyDocument: trust });
export const putTrust = (name, trust) => call('UpdateAssumeRolePolicy', { RoleName: name, PolicyDocument: trust });
export async function deleteRole(name) {
  await withoutPolicies('Role', name);
  await call('DeleteRole', { RoleName: name });
}

/** A policy document, which IAM returns URL-encoded. */
const documentOf = (text) => decodeURIComponent(text ?? '');

/** The policies of a user, a group or a role; `kind` is `User`, `Group` or `Role`. */
export const listAttached = async (kind, name) => (await all(`ListAttached${kind}Policies`, 'AttachedPolicies', { [`${kind}Name`]: name }))
  .map((it) => ({ name: it.get('PolicyName'), arn: it.get('PolicyArn') }));
export const attach = (kind, name, arn) => call(`Attach${kind}Policy`, { [`${kind}Name`]: name, PolicyArn: arn });
export const detach = (kind, name, arn) => call(`Detach${kind}Policy`, { [`${kind}Name`]: name, PolicyArn: arn });
export const listInline = async (kind, name) =>
  (await all(`List${kind}Policies`, 'PolicyNames', { [`${kind}Name`]: name })).map((it) => it.text);
export const getInline = async (kind, name, policy) =>
  documentOf((await call(`Get${kind}Policy`, { [`${kind}Name`]: name, PolicyName: policy })).get('PolicyDocument'));
export const putInline = (kind, name, policy, document) =>
  call(`Put${kind}Policy`, { [`${kind}Name`]: name, PolicyName: policy, PolicyDocument: document });
export const deleteInline = (kind, name, policy) => call(`Delete${kind}Policy`, { [`${kind}Name`]: name, PolicyName: policy });

const policyOf = (it) => ({
  name: it.get('PolicyName'), arn: it.get('Arn'), version: it.get('DefaultVersionId'), attachments: Number(it.get('AttachmentCount')),
  description: it.get('Description'), created: it.get('CreateDate'), updated: it.get('UpdateDate'),
});
/** True for a built-in policy. */
export const isBuiltIn = (arn) => arn.startsWith('arn:aws:iam::aws:');
export const listPolicies = async () => (await all('ListPolicies', 'Policies', { Scope: 'All' })).map(policyOf);
export const getPolicy = async (arn) => policyOf((await call('GetPolicy', { PolicyArn: arn })).find('Policy'));
export const createPolicy = async (name, document, description) =>
  policyOf((await call('CreatePolicy', { PolicyName: name, PolicyDocument: document, Description: description || undefined })).find('Policy'));
export const getPolicyVersion = async (arn, version) =>
  documentOf((await call('GetPolicyVersion', { PolicyArn: arn, VersionId: version })).get('PolicyVersion/Document'));
export const listPolicyVersions = async (arn) => (await all('ListPolicyVersions', 'Versions', { PolicyArn: arn })).map((it) => ({
  id: it.get('VersionId'), isDefault: it.get('IsDefaultVersion') === 'true', created: it.get('CreateDate'),
}));
export const setDefaultVersion = (arn, version) => call('SetDefaultPolicyVersion', { PolicyArn: arn, VersionId: version });
export const deletePolicyVersion = (arn, version) => call('DeletePolicyVersion', { PolicyArn: arn, VersionId: version });

/** Sets the document of a policy. Removes the oldest version if all are used and the document is valid. */
export async function putPolicy(arn, document) {
  const create = () => call('CreatePolicyVersion', { PolicyArn: arn, PolicyDocument: document, SetAsDefault: 'true' });
  try {
    await create();
  } catch (error) {
    if (error.code !== 'LimitExceeded') throw error;
    const former = (await listPolicyVersions(arn)).filter((it) => !it.isDefault);
    const [oldest] = former.sort((a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1)));
    if (!oldest) throw error;
    await deletePolicyVersion(arn, oldest.id);
    await create();
  }
}

/** The users, groups and roles that a policy is attached to. */
export async function entitiesOf(arn) {
  const found = { users: [], groups: [], roles: [] };
  let result, Marker;
  do {
    result = await call('ListEntitiesForPolicy', { PolicyArn: arn, Marker, MaxItems: 1000 });
    for (const [kind, list] of [['User', found.users], ['Group', found.groups], ['Role', found.roles]]) {
      list.push(...result.all(`Policy${kind}s/member`).map((it) => it.get(`${kind}Name`)));
    }
    Marker = result.get('IsTruncated') === 'true' ? result.get('Marker') : undefined;
  } while (Marker);
  return found;
}

async function withoutPolicies(kind, name) {
  for (const { arn } of await listAttached(kind, name)) await detach(kind, name, arn);
  for (const policy of await listInline(kind, name)) await deleteInline(kind, name, policy);
}

/** Deletes a user with its keys and policies, and takes it out of its groups. Its keys go first. */
export async function deleteUser(name) {
  for (const { id } of await listKeys(name)) await deleteKey(name, id);
  await withoutPolicies('User', name);
  for (const group of await groupsOf(name)) await leave(group.name, name);
  await call('DeleteUser', { UserName: name });
}

export async function deleteGroup(name) {
  await withoutPolicies('Group', name);
  for (const user of (await getGroup(name)).members) await leave(name, user.name);
  await call('DeleteGroup', { GroupName: name });
}

export async function deletePolicy(arn) {
  for (const { id, isDefault } of await listPolicyVersions(arn)) if (!isDefault) await deletePolicyVersion(arn, id);
  await call('DeletePolicy', { PolicyArn: arn });
}
