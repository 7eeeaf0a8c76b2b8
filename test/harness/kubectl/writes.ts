import { setTimeout as sleep } from "node:timers/promises";
import { isObject, type JsonValue, type KubernetesObject } from "@xfn/json";
import { parseJsonDocument, readDocuments } from "@xfn/json/document";
import { type ConnectedClient, isApiError, type ObjectReference, type ResourceKind } from "@xfn/kubernetes";
import type { CommandLine } from "./command-line.ts";
import { NotImitated } from "./not-imitated.ts";
import { expectFlags, find, nameOf, referenceTo, type Session, targetsOf } from "./session.ts";
import { POLL_MS, waitForAll } from "./waits.ts";

/** On a busy machine, discovery lists a kind seconds after its CRD is established. */
export const DISCOVERY_MS = 30_000;

/** `apply -f -`, on the server's side: the client's side takes two more requests, and keeps the object in itself. */
export async function apply({ client }: Session, command: CommandLine, input: string): Promise<string> {
  expectFlags(command, "filename");
  if (command.flags.filename !== "-") throw new NotImitated("apply of files");
  let shown = "";
  for (const object of objectsOf(input)) {
    const namespace = object.metadata?.namespace ?? command.flags.namespace;
    const { apiVersion = "", kind = "" } = object;
    const { namespaced } = await served(client, apiVersion, kind);
    const metadata = { ...object.metadata, ...(namespaced && { namespace }) };
    const applied = await client.apply({ ...object, metadata }, { fieldValidation: "Strict" });
    shown += `${nameOf(referenceTo(applied))} serverside-applied\n`;
  }
  return shown;
}

/** Waits for a kind that discovery may list only seconds after its CRD is established. */
async function served(client: ConnectedClient, apiVersion: string, kind: string): Promise<ResourceKind> {
  for (const end = Date.now() + DISCOVERY_MS; ; await sleep(POLL_MS)) {
    try {
      return await client.kind(apiVersion, kind);
    } catch (error) {
      if (!isApiError(error, "KindNotServed") || Date.now() > end) throw error;
    }
  }
}

/** The objects of YAML documents, or of JSON texts one after the other. */
function objectsOf(input: string): readonly KubernetesObject[] {
  const lines = input.trim().split("\n");
  const values = lines.every((line) => line.startsWith("{"))
    ? lines.map((line): JsonValue => parseJsonDocument(line))
    : readDocuments(input).map(({ value }) => value);
  return values.map((value) => {
    if (!isObject(value)) throw new NotImitated("a document without an object");
    return value;
  });
}

/** `delete`, which waits until the objects are gone. */
export async function remove(session: Session, command: CommandLine): Promise<string> {
  expectFlags(command, "namespace", "timeout", "wait");
  const targets = await targetsOf(session, command);
  const references = targets.flatMap((target) => target.references);
  if (references.length === 0) throw new NotImitated("delete of a list");
  const uids = await Promise.all(references.map(async (one) => (await session.client.get(one)).metadata.uid));
  await Promise.all(references.map((one) => session.client.delete(one, { propagationPolicy: "Background" })));
  if (command.flags.wait === "true") {
    const isGone = async (reference: ObjectReference, index: number): Promise<boolean> =>
      (await find(session, reference))?.metadata.uid !== uids[index];
    await waitForAll(command, references, isGone);
  }
  return references.map(({ kind, name }) => `${kind.toLowerCase()} "${name}" deleted\n`).join("");
}

/** `patch --type=merge`. */
export async function patch(session: Session, command: CommandLine): Promise<string> {
  expectFlags(command, "namespace", "type", "patch", "subresource");
  const { type, patch: body, subresource } = command.flags;
  const [reference, ...others] = (await targetsOf(session, command)).flatMap(({ references }) => references);
  if (type !== "merge" || reference === undefined || others.length > 0) throw new NotImitated("this patch");
  const manager = { fieldManager: "kubectl-patch", fieldValidation: "Strict" } as const;
  const options = { ...manager, ...(subresource !== "" && { subresource }) };
  const patched = await session.client.patch(reference, "merge", parseJsonDocument(body), options);
  return `${nameOf(referenceTo(patched))} patched\n`;
}

/** `create namespace NAME`. */
export async function create({ client }: Session, { words, given }: CommandLine): Promise<string> {
  const [type, name = "", ...more] = words;
  if (type !== "namespace" || more.length > 0 || given.size > 0) throw new NotImitated(`create ${words.join(" ")}`);
  await client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  return `namespace/${name} created\n`;
}
