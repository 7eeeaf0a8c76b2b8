import {
  type Composition,
  checkComposition,
  documentOf,
  type Layout,
  machineryOf,
  machineryPath,
} from "@xfn/composition";
import { type Definition, layoutOfDefinition } from "@xfn/composition/definition";
import { type JsonObject, objectAt, textAt, textsAt } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import { compositeTypeOf } from "../kinds/compositions.ts";
import { FIELD_MANAGERS } from "../objects/field-managers.ts";
import { COMPOSITIONS, REVISIONS } from "../objects/kinds.ts";
import { LABEL_COMPOSITION_NAME, labelValue, selectorText } from "../objects/labels.ts";
import { fieldsOf } from "../objects/managed-fields.ts";
import { controllerOf } from "../objects/owner.ts";
import { findCached, listByLabels, type Reader } from "../objects/read-objects.ts";
import { compositionOf, latestOf } from "./read-revision.ts";
import type { CompositionPort } from "./reconcile-composition.ts";
import { followsNewest, rolledOutOf } from "./rollout-state.ts";
import { SelectionError } from "./selection-error.ts";

/** Reads what a selection needs. */
export type RevisionReader = Reader & Pick<CompositionPort, "rollouts">;

/** The revision that a composite resource is composed with. */
export interface SelectedRevision {
  /** The Composition as it was at that revision: the same object while the revision is the same. */
  readonly composition: Composition;
  readonly revision: LiveObject;
  /**
   * The fields to merge into the composite's spec, so that it records the selection: `compositionRef`,
   * `compositionRevisionRef` and `compositionUpdatePolicy`. Empty if it does already.
   */
  readonly changes: JsonObject;
}

/**
 * Selects the revision that a composite resource is composed with. Writes nothing.
 *
 * The Composition is the first of:
 *
 * 1. the Composition that the definition enforces
 * 2. the Composition that the composite names
 * 3. the definition's default
 * 4. the first by name with the composite's kind and the labels of `spec.compositionSelector`
 *
 * With the update policy Manual, the revision that the composite names stays selected. Otherwise it is the newest
 * revision with the labels of `spec.compositionRevisionSelector`.
 *
 * @throws {SelectionError} if there is none
 * @throws {ApiError} if an object that no cache has cannot be read
 */
export async function selectRevision(
  reader: RevisionReader,
  definition: Definition,
  xr: LiveObject,
  signal?: AbortSignal,
): Promise<SelectedRevision> {
  const layout = layoutOfDefinition(definition);
  const wanted = machineryOf(xr, layout);
  const policy = textAt(wanted, "compositionUpdatePolicy") ?? definition.spec.defaultCompositionUpdatePolicy;
  const pinned = policy === "Manual" ? await pinnedRevision(reader, definition, xr, signal) : undefined;
  const name =
    definition.spec.enforcedCompositionRef?.name ??
    textAt(wanted, "compositionRef", "name") ??
    (pinned && controllerOf(pinned)?.name) ??
    defaultComposition(definition, xr) ??
    (await compositionByLabels(reader, definition, xr, signal));
  const isOwn = pinned !== undefined && belongsTo(pinned, name);
  if (pinned !== undefined && !isOwn) refuseChosen(xr, layout, pinned, name);
  const revision = isOwn ? pinned : await newestRevision(reader, definition, xr, name, signal);
  requireKind(revision, xr);
  return { composition: compositionOf(revision), revision, changes: changesOf(wanted, name, revision, policy) };
}

/** The revision that a composite with the policy Manual names. */
async function pinnedRevision(
  reader: Reader,
  definition: Definition,
  xr: LiveObject,
  signal?: AbortSignal,
): Promise<LiveObject | undefined> {
  const layout = layoutOfDefinition(definition);
  const name = textAt(machineryOf(xr, layout), "compositionRevisionRef", "name");
  if (name === undefined) return undefined;
  const revision = await findCached(reader, REVISIONS, name, signal);
  // An enforced Composition overrides the composite's references, also dangling ones.
  if (revision !== undefined || definition.spec.enforcedCompositionRef !== undefined) return revision;
  throw new SelectionError(
    "RevisionNotFound",
    `there is no CompositionRevision ${name}, which ${fieldOf(layout, "compositionRevisionRef")} names; name another, or none for the newest`,
  );
}

/**
 * Refuses a revision of another Composition that a user or a claim chose: they would restore it after each write. A
 * revision that the controller selected itself is left from an earlier Composition and can be replaced.
 */
function refuseChosen(xr: LiveObject, layout: Layout, revision: LiveObject, composition: string): void {
  const others = fieldsOf(xr, (manager) => !SELECTING.includes(manager));
  const path = machineryPath(layout).map((step) => `f:${step}`);
  if (objectAt(others, ...path)["f:compositionRevisionRef"] === undefined) return;
  throw new SelectionError(
    "Incompatible",
    `${fieldOf(layout, "compositionRevisionRef")}: ${revision.metadata.name} is not a revision of the Composition ${composition}, ` +
      "which this composite uses; name one that is, or none",
  );
}

/** Crossplane's controllers select revisions as `crossplane`. */
const SELECTING: readonly string[] = [FIELD_MANAGERS.xr, FIELD_MANAGERS.composite, "crossplane"];

/** A revision that was restored from a backup may lack its owner, so its label counts too. */
function belongsTo(revision: LiveObject, composition: string): boolean {
  const owner = controllerOf(revision);
  if (owner !== undefined) return owner.name === composition;
  return revision.metadata.labels?.[LABEL_COMPOSITION_NAME] === labelValue(composition);
}

function defaultComposition(definition: Definition, xr: LiveObject): string | undefined {
  const { compositionSelector } = machineryOf(xr, layoutOfDefinition(definition));
  return compositionSelector === undefined ? definition.spec.defaultCompositionRef?.name : undefined;
}

async function compositionByLabels(
  reader: Reader,
  definition: Definition,
  xr: LiveObject,
  signal?: AbortSignal,
): Promise<string> {
  const layout = layoutOfDefinition(definition);
  const labels = textsAt(machineryOf(xr, layout), "compositionSelector", "matchLabels");
  const found = await listByLabels(reader, COMPOSITIONS, labels, signal);
  const names = found.filter((composition) => isFor(composition, xr)).map(({ metadata }) => metadata.name);
  // Sorted, so that a retry selects the same one.
  const first = names.toSorted((a, b) => (a < b ? -1 : 1))[0];
  if (first !== undefined) return first;
  throw new SelectionError(
    "NoComposition",
    `there is no Composition for ${xr.kind} of ${xr.apiVersion}${withLabels(labels)}; ` +
      `create one, or name one in ${fieldOf(layout, "compositionRef")}`,
  );
}

async function newestRevision(
  reader: RevisionReader,
  definition: Definition,
  xr: LiveObject,
  name: string,
  signal?: AbortSignal,
): Promise<LiveObject> {
  const composition = await findCached(reader, COMPOSITIONS, name, signal);
  if (composition === undefined) {
    throw new SelectionError("CompositionNotFound", `there is no Composition ${name}; create it, or name another`);
  }
  requireKind(composition, xr);
  const layout = layoutOfDefinition(definition);
  const { compositionRevisionSelector: selector } = machineryOf(xr, layout);
  const labels = textsAt(selector ?? definition.spec.defaultCompositionRevisionSelector, "matchLabels");
  const own = { [LABEL_COMPOSITION_NAME]: labelValue(name) };
  const revisions = await listByLabels(reader, REVISIONS, { ...labels, ...own }, signal);
  const latest =
    reader.rollouts && Object.keys(labels).length === 0
      ? rolledOutOf(composition, revisions, xr, followsNewest(definition, xr))
      : latestOf(composition, revisions);
  if (latest !== undefined) return latest;
  const { error: cause } = checkComposition(documentOf(composition));
  if (cause !== undefined) {
    throw new SelectionError("InvalidComposition", `the Composition ${name} has errors: ${cause.message}`, { cause });
  }
  if (Object.keys(labels).length === 0)
    throw new SelectionError("NoRevision", `the Composition ${name} has no revision yet`, { isAwaited: true });
  const selected = `${withLabels(labels)}, which ${fieldOf(layout, "compositionRevisionSelector")} selects`;
  throw new SelectionError("NoRevision", `the Composition ${name} has no revision${selected}`);
}

/** The path of a field in a message. */
function fieldOf(layout: Layout, field: string): string {
  return [...machineryPath(layout), field].join(".");
}

function withLabels(labels: Readonly<Record<string, string>>): string {
  return Object.keys(labels).length === 0 ? "" : ` with the labels ${selectorText(labels).replaceAll(",", ", ")}`;
}

function requireKind(found: LiveObject, xr: LiveObject): void {
  if (isFor(found, xr)) return;
  const { apiVersion = "", kind = "" } = compositeTypeOf(found);
  throw new SelectionError(
    "Incompatible",
    `the ${found.kind} ${found.metadata.name} is for ${kind} of ${apiVersion}, ` +
      `not for ${xr.kind} of ${xr.apiVersion}; name another`,
  );
}

/** Whether a Composition or a revision is for a composite's kind, in its exact version. */
function isFor(found: LiveObject, xr: LiveObject): boolean {
  const { apiVersion, kind } = compositeTypeOf(found);
  return apiVersion === xr.apiVersion && kind === xr.kind;
}

function changesOf(wanted: JsonObject, composition: string, revision: LiveObject, policy: string): JsonObject {
  const changes: JsonObject = {};
  const { name } = revision.metadata;
  if (textAt(wanted, "compositionRef", "name") !== composition) changes["compositionRef"] = { name: composition };
  if (textAt(wanted, "compositionRevisionRef", "name") !== name) changes["compositionRevisionRef"] = { name };
  if (textAt(wanted, "compositionUpdatePolicy") === undefined) changes["compositionUpdatePolicy"] = policy;
  return changes;
}
