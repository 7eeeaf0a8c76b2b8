import { machineryOf } from "@xfn/composition";
import { layoutOfDefinition } from "@xfn/composition/definition";
import { textAt, textsAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { compositesOf } from "../definition/find-definition.ts";
import { COMPOSITIONS, REVISIONS } from "../objects/kinds.ts";
import { selectorText } from "../objects/labels.ts";
import { controllerOf } from "../objects/owner.ts";
import { hasLabels } from "../objects/read-objects.ts";
import { latestOf } from "../revision/read-revision.ts";
import { isForAll, newestFirst } from "../revision/rollout-state.ts";
import type { Cluster } from "./package-port.ts";

/**
 * Whether an XR uses a CompositionRevision, or would use it in its next reconcile. XRs use the newest revision, the
 * previous one during a rollout, and revisions that they name or select by labels. Without complete caches, a revision
 * counts as used.
 */
export function isUsed(cluster: Pick<Cluster, "informers">, revision: LiveObject): boolean {
  const { informers } = cluster;
  const owner = controllerOf(revision);
  const composition = owner && informers.peek(COMPOSITIONS)?.get(owner.name);
  const revisions = informers.peek(REVISIONS)?.list();
  if (composition === undefined || revisions === undefined) return true;
  const [newest, ...older] = newestFirst(composition, revisions);
  const { name } = revision.metadata;
  if (newest === undefined || newest.metadata.name === name) return true;
  if (!isForAll(newest) && older.find(isForAll)?.metadata.name === name) return true;
  const composites = compositesOf(cluster, revision);
  if (typeof composites === "string") return composites === "unknown";
  const { definition, xrs } = composites;
  const layout = layoutOfDefinition(definition);
  /** Cached by selector: many XRs share few selectors. */
  const selected = new Map<string, boolean>();
  return xrs.some((xr) => {
    const wanted = machineryOf(xr, layout);
    if (textAt(wanted, "compositionRevisionRef", "name") === name) return true;
    const selector = wanted["compositionRevisionSelector"] ?? definition.spec.defaultCompositionRevisionSelector;
    const labels = textsAt(selector, "matchLabels");
    const key = selectorText(labels);
    if (key === "") return false;
    const known = selected.get(key);
    if (known !== undefined) return known;
    const matching = revisions.filter((one) => hasLabels(one, labels));
    const isLatest = latestOf(composition, matching)?.metadata.name === name;
    selected.set(key, isLatest);
    return isLatest;
  });
}
