import { someOf } from "@xfn/errors";
import { textAt } from "@xfn/json";
import type { ResourceKind } from "@xfn/kubernetes";
import type { Actor } from "../../account/actor.ts";
import { secretReferenceOf } from "../../objects/connection-secrets.ts";
import { compositeKindOf } from "../../objects/definition-kinds.ts";
import { SECRETS } from "../../objects/kinds.ts";
import { recordedReferences } from "../../objects/references.ts";
import type { CompositePort, Subject } from "./composite-port.ts";
import { explainFailure, type Failure } from "./explain-failure.ts";

/** The rights that an account needs for one kind in one namespace. */
interface Needed {
  readonly actor: Actor;
  readonly kind: ResourceKind;
  readonly namespace: string | undefined;
  readonly verbs: readonly string[];
}

const COMPOSE = ["get", "create", "patch", "delete"] as const;
/** The number of kinds that a message names. */
const MAX_NAMED = 20;

/** Explains a failure. If an account lacks rights, the message begins with all of them. */
export async function explain(port: CompositePort, subject: Subject, error: unknown): Promise<Failure> {
  const failure = explainFailure(error);
  const missing =
    failure.reason === "Forbidden" ? await missingRights(port, subject).catch(() => undefined) : undefined;
  return missing === undefined ? failure : { ...failure, message: `${missing}: ${failure.message}` };
}

/**
 * All rights that the accounts of an XR lack, as far as its templates and records show. An administrator can then grant
 * them at once, instead of one after each attempt. Undefined without an account, or if no missing right is known.
 */
async function missingRights(port: CompositePort, subject: Subject): Promise<string | undefined> {
  const { own, xr, composition } = port.actors;
  if (xr === own && composition === own) return undefined;
  const lacking = new Map<string, string[]>();
  for (const { actor, kind, namespace, verbs } of await neededRights(port, subject)) {
    const { group, plural: resource } = kind;
    const reviews = verbs.map(async (verb) => {
      const attributes = { verb, group, resource, ...(namespace !== undefined && { namespace }) };
      return (await actor.has(attributes, port.clock.signal)) ? [] : [verb];
    });
    const missing = (await Promise.all(reviews)).flat();
    if (missing.length === 0) continue;
    const where = namespace === undefined ? "" : ` in ${namespace}`;
    const title = `${missing.join(", ")} of ${resource}${group === "" ? "" : `.${group}`}${where}`;
    const account = actor.title ?? "";
    lacking.set(account, [...(lacking.get(account) ?? []), title]);
  }
  if (lacking.size === 0) return undefined;
  return [...lacking].map(([title, kinds]) => `${title} lacks ${someOf(kinds, MAX_NAMED)}`).join("; ");
}

async function neededRights(port: CompositePort, { definition, layout, xr }: Subject): Promise<Needed[]> {
  const { actors } = port;
  const { signal } = port.clock;
  const { namespace } = xr.metadata;
  const needed: Needed[] = [];
  const secret = secretReferenceOf(xr, layout);
  if (actors.xr !== actors.own) {
    const actor = actors.xr;
    needed.push({ actor, kind: compositeKindOf(definition), namespace, verbs: ["get", "patch"] });
    if (secret !== undefined)
      needed.push({ actor, kind: SECRETS, namespace: secret.namespace, verbs: ["get", "create", "patch", "delete"] });
  }
  const { composition } = await actors.select(xr);
  // The Composition's own account is not in use: the missing right is the right to use it.
  if (actors.composition === actors.xr && composition.spec.serviceAccountRef !== undefined) return needed;
  const actor = actors.composition;
  const bases = composition.spec.resources.map(({ base }) => base);
  const kinds = new Map<string, ResourceKind>();
  const types = bases.map((base) => ({ apiVersion: textAt(base, "apiVersion"), kind: textAt(base, "kind") }));
  for (const { apiVersion = "", kind = "" } of [...types, ...recordedReferences(xr, layout)]) {
    // A kind that is not served is reported with its entry.
    const found = await actors.xr.client.kind(apiVersion, kind, { signal }).catch(() => undefined);
    if (found !== undefined) kinds.set(`${found.group}/${found.plural}`, found);
  }
  for (const kind of kinds.values())
    needed.push({ actor, kind, namespace: kind.namespaced ? namespace : undefined, verbs: COMPOSE });
  const secretNamespaces = bases.map((base) => textAt(base, "spec", "writeConnectionSecretToRef", "namespace"));
  for (const one of new Set(secretNamespaces))
    if (one !== undefined) needed.push({ actor, kind: SECRETS, namespace: one, verbs: ["get"] });
  return needed;
}
