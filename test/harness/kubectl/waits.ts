import { setTimeout as sleep } from "node:timers/promises";
import { isObject } from "@xfn/json";
import type { LiveObject, ObjectReference } from "@xfn/kubernetes";
import type { CommandLine } from "./command-line.ts";
import { printJsonPath } from "./json-path.ts";
import { NotImitated } from "./not-imitated.ts";
import { expectFlags, find, nameOf, referenceTo, type Session, targetsOf } from "./session.ts";

/** kubectl watches; a poll of one object costs the server less than kubectl's start. */
export const POLL_MS = 50;

/** `wait` for a condition, a value or a deletion. */
export async function wait(session: Session, command: CommandLine): Promise<string> {
  expectFlags(command, "namespace", "for", "timeout", "all");
  const isMet = predicateOf(command.flags.for);
  const references: ObjectReference[] = [];
  for (const target of await targetsOf(session, command)) {
    if (command.flags.all === "true") {
      const { namespaced } = target.kind;
      const { items } = await session.client.list(
        target.kind,
        namespaced ? { namespace: command.flags.namespace } : {},
      );
      references.push(...items.map(referenceTo));
    } else references.push(...target.references);
  }
  if (references.length === 0) throw new NotImitated("no objects to wait for");
  const isDeletion = isMet === "delete";
  await waitForAll(command, references, async (reference) =>
    isDeletion ? (await find(session, reference)) === undefined : isMet(await session.client.get(reference)),
  );
  return references.map((one) => `${nameOf(one)} ${isDeletion ? "deleted" : "condition met"}\n`).join("");
}

/** Reads `delete`, `condition=TYPE[=STATUS]` or `jsonpath={PATH}=VALUE`. */
function predicateOf(text: string): "delete" | ((object: LiveObject) => boolean) {
  if (text === "delete") return text;
  const [, type, status = "True"] = /^condition=(\w+)(?:=(\w+))?$/.exec(text) ?? [];
  if (type !== undefined) return (object) => hasCondition(object, type, status);
  const [, path, value] = /^jsonpath=(\{[^}]*\})=(.+)$/.exec(text) ?? [];
  if (path === undefined) throw new NotImitated(`--for=${text}`);
  return (object) => printJsonPath(path, object) === value;
}

/** Whether an object has a condition that its controller reported of its current generation. */
function hasCondition(object: LiveObject, type: string, status: string): boolean {
  const own = isObject(object["status"]) ? object["status"] : {};
  const conditions = Array.isArray(own["conditions"]) ? own["conditions"].filter(isObject) : [];
  const condition = conditions.find((one) => String(one["type"]).toLowerCase() === type.toLowerCase());
  if (condition === undefined) return false;
  const observed = condition["observedGeneration"] ?? own["observedGeneration"];
  const { generation } = object.metadata;
  const isOld = typeof observed === "number" && typeof generation === "number" && observed < generation;
  return !isOld && String(condition["status"]).toLowerCase() === status.toLowerCase();
}

/** Waits until all objects meet a condition, for as long as the command says. */
export async function waitForAll(
  { verb, words, flags }: CommandLine,
  references: readonly ObjectReference[],
  isMet: (reference: ObjectReference, index: number) => Promise<boolean>,
): Promise<void> {
  const seconds = /^(\d+)s$/.exec(flags.timeout)?.[1] ?? (flags.timeout === "" ? "30" : undefined);
  if (seconds === undefined) throw new NotImitated(`--timeout=${flags.timeout}`);
  const end = Date.now() + Number(seconds) * 1000;
  for (const [index, reference] of references.entries()) {
    for (; !(await isMet(reference, index)); await sleep(POLL_MS)) {
      if (Date.now() < end) continue;
      const what = `${reference.kind} ${reference.name}`;
      throw new Error(`kubectl ${verb} ${words.join(" ")}: timed out waiting for the condition on ${what}`);
    }
  }
}
