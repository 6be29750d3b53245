// The tags of a bucket.

import { html } from '../../vendor/preact.js';
import { Pairs } from '../../ui/kit.js';
import { Panel, useSetting } from './panel.js';

export function Tags({ bucket }) {
  const setting = useSetting(bucket, 'tagging');
  const tags = setting.value?.TagSet?.Tags ?? [];
  const change = (pairs) => setting.change({
    ...setting.value, TagSet: { ...setting.value?.TagSet, Tags: pairs.map(([Key, Value], at) => ({ ...tags[at], Key, Value })) },
  });
  const toSave = (value) => {
    const kept = value.TagSet.Tags.filter((it) => it.Key || it.Value);
    return kept.length ? { ...value, TagSet: { ...value.TagSet, Tags: kept } } : undefined;
  };
  return html`<${Panel} title="Tags" setting=${setting} toSave=${toSave} lead="Names and values that describe the purpose of the bucket.">
    <${Pairs} pairs=${tags.map((it) => [it.Key, it.Value])} onChange=${change} add="Add a tag" /><//>`;
}
