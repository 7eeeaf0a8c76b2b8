import { claimFieldOf, type Definition } from "@xfn/composition/definition";
import { textAt } from "@xfn/json";
import type { EventRecorder, Informers, LiveObject } from "@xfn/kubernetes";
import { claimKindOf } from "../../objects/definition-kinds.ts";
import type { CompositePort, Subject } from "./composite-port.ts";

/**
 * The maximum number of events of one reconcile. More would hide the events of other objects, and fill the API server.
 */
const MAX_EVENTS = 100;

/**
 * Emits the notes of a reconcile as events, unless the last reconcile emitted the same ones.
 *
 * @returns the events, with kind, type, reason and message
 */
export function emitEvents(
  events: EventRecorder,
  { actors, shown }: Pick<CompositePort, "actors" | "shown">,
  { definition, memory, xr }: Subject,
): ReadonlySet<string> {
  const emitted = new Set<string>();
  for (const { about, type, reason, message } of shown.notes) {
    // Any message can quote a function, a server or a composed resource.
    const event = { type, reason, message: shown.secrets.scrub(message) };
    // An adoption happens once, and each adopted object has its own event.
    if (typeof about === "object") {
      events.record(about, event);
      continue;
    }
    const object = about === "composite" ? xr : claimOf(definition, actors.own.informers, xr);
    if (object === undefined) continue;
    const text = [object.kind, event.type, event.reason, event.message].join(" ");
    if (emitted.has(text) || emitted.size >= MAX_EVENTS) continue;
    emitted.add(text);
    if (!memory.events.has(text)) events.record(object, event);
  }
  return emitted;
}

function claimOf(definition: Definition, caches: Pick<Informers, "peek">, xr: LiveObject): LiveObject | undefined {
  const kind = claimKindOf(definition);
  const [name, namespace] = ["name", "namespace"].map((field) => textAt(xr, "spec", claimFieldOf(definition), field));
  return kind && name ? caches.peek(kind)?.get(name, namespace) : undefined;
}
