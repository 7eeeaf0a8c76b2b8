import { createHash } from "node:crypto";
import type { JsonObject, KubernetesObject } from "@xfn/json";
import type { ObjectReference } from "../client/client.ts";

/** `involvedObject` of an event. */
export type InvolvedObject = JsonObject & { name: string; namespace?: string };

/** An event of the core API with its repetitions. Times are in milliseconds since the epoch. */
export interface EventSeries {
  /** Identifies equal events. */
  readonly key: string;
  readonly reference: ObjectReference;
  readonly about: InvolvedObject;
  readonly type: string;
  readonly reason: string;
  readonly first: number;
  message: string;
  last: number;
  count: number;
  /** The count that the server knows; 0 before the event is created. */
  written: number;
  writtenAt: number;
}

export function newSeries(
  key: string,
  about: InvolvedObject,
  event: { readonly type: string; readonly reason: string; readonly message: string },
  now: number,
): EventSeries {
  const { type, reason, message } = event;
  const namespace = about.namespace ?? "default";
  const reference = { apiVersion: "v1", kind: "Event", namespace, name: eventName(about.name, key, now) };
  return { key, reference, about, type, reason, message, first: now, last: now, count: 1, written: 0, writtenAt: now };
}

/** Returns undefined for an object without a name. */
export function involvedObject({ apiVersion, kind, metadata }: KubernetesObject): InvolvedObject | undefined {
  const { name, namespace, uid } = metadata ?? {};
  if (typeof name !== "string" || name === "") return undefined;
  return {
    apiVersion: String(apiVersion ?? ""),
    kind: String(kind ?? ""),
    name,
    ...(typeof namespace === "string" ? { namespace } : {}),
    ...(typeof uid === "string" ? { uid } : {}),
  };
}

/** The Event to create. @param source the reporting component */
export function eventOf(
  { reference, about, type, reason, message, first, last, count }: EventSeries,
  source: string,
): KubernetesObject {
  const { apiVersion, kind, name, namespace = "" } = reference;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace },
    involvedObject: about,
    type,
    reason,
    message,
    count,
    firstTimestamp: eventTime(first),
    lastTimestamp: eventTime(last),
    source: { component: source },
    reportingComponent: source,
  };
}

export function eventTime(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/** Unique for each series, and no longer than a name may be: the object's own name may have the full length. */
function eventName(name: string, key: string, now: number): string {
  const hash = createHash("sha256").update(key).update(String(now)).digest("hex").slice(0, 16);
  return `${name.slice(0, 200).replace(/[^a-z0-9]+$/, "")}.${hash}`;
}
