import {
  type ConnectedClient,
  connect,
  isApiError,
  type LiveObject,
  loadKubeconfig,
  type ObjectReference,
  type ResourceKind,
} from "@xfn/kubernetes";
import type { CommandLine } from "./command-line.ts";
import { NotImitated } from "./not-imitated.ts";
import { ResourceTypes } from "./resource-types.ts";

/** The connection of imitated commands. */
export interface Session {
  readonly client: ConnectedClient;
  readonly types: ResourceTypes;
}

/** Answers a command with kubectl's stdout. */
export type Command = (session: Session, command: CommandLine, input: string) => Promise<string>;

export async function openSession(kubeconfig: string): Promise<Session> {
  const access = await loadKubeconfig({ path: kubeconfig });
  const client = await connect({ access, fieldManager: "kubectl" });
  return { client, types: new ResourceTypes(client) };
}

/** Objects of one kind: those with names, or a list. */
export interface Target {
  readonly kind: ResourceKind;
  /** None: all. */
  readonly references: readonly ObjectReference[];
}

/** Reads `TYPE[,TYPE] [NAME...]` or `TYPE/NAME...`. */
export async function targetsOf({ types }: Session, { words, flags }: CommandLine): Promise<readonly Target[]> {
  const target = async (type: string, names: readonly string[]): Promise<Target> => {
    const kind = await types.named(type);
    const apiVersion = kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
    const at = kind.namespaced ? { namespace: flags.namespace } : {};
    return { kind, references: names.map((name) => ({ apiVersion, kind: kind.kind, name, ...at })) };
  };
  const [first = "", ...names] = words;
  if (!first.includes("/")) return Promise.all(first.split(",").map((type) => target(type, names)));
  return Promise.all(
    words.map((word) => {
      const [type = "", name = "", ...more] = word.split("/");
      if (name === "" || more.length > 0) throw new NotImitated(word);
      return target(type, [name]);
    }),
  );
}

/** @throws {NotImitated} the command has a flag that its imitation does not know */
export function expectFlags({ verb, given }: CommandLine, ...known: readonly string[]): void {
  for (const flag of given) if (!known.includes(flag)) throw new NotImitated(`${verb} --${flag}`);
}

export async function find({ client }: Session, reference: ObjectReference): Promise<LiveObject | undefined> {
  try {
    return await client.get(reference);
  } catch (error) {
    if (isApiError(error, "NotFound", "KindNotServed")) return undefined;
    throw error;
  }
}

export function referenceTo({ apiVersion, kind, metadata: { name, namespace } }: LiveObject): ObjectReference {
  return { apiVersion, kind, name, namespace };
}

/** `configmap/NAME` or `KIND.GROUP/NAME`. */
export function nameOf({ apiVersion, kind, name }: ObjectReference): string {
  const group = apiVersion.includes("/") ? `.${apiVersion.split("/")[0]}` : "";
  return `${kind.toLowerCase()}${group}/${name}`;
}
