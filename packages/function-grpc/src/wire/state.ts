import { bytes, enumeration, type Message, map, message, optional, repeated, value } from "@xfn/protobuf";
import type { Ready } from "./enums.ts";

/** A Kubernetes object, as a Struct, with its connection details. */
export interface Resource {
  resource?: Uint8Array | undefined;
  connectionDetails: Map<string, Uint8Array>;
  ready: Ready;
}

export const Resource: Message<Resource> = message("Resource", {
  resource: optional(1, bytes),
  connectionDetails: map(2, bytes),
  ready: value(3, enumeration<Ready>("Ready")),
});

/** The composite resource, and its composed resources by name. */
export interface State {
  composite?: Resource | undefined;
  resources: Map<string, Resource>;
}

export const State: Message<State> = message("State", {
  composite: optional(1, Resource),
  resources: map(2, Resource),
});

export interface Resources {
  items: Resource[];
}

export const Resources: Message<Resources> = message("Resources", { items: repeated(1, Resource) });

/** The data of a Secret. */
export interface CredentialData {
  data: Map<string, Uint8Array>;
}

export const CredentialData: Message<CredentialData> = message("CredentialData", { data: map(1, bytes) });

export interface Credentials {
  credentialData?: CredentialData | undefined;
}

export const Credentials: Message<Credentials> = message("Credentials", {
  credentialData: optional(1, CredentialData),
});

/** The OpenAPI v3 schema of a kind, as a Struct. Absent if the kind has none. */
export interface Schema {
  openapiV3?: Uint8Array | undefined;
}

export const Schema: Message<Schema> = message("Schema", { openapiV3: optional(1, bytes) });
