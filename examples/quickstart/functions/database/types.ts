// Written by `xfn types`. Do not edit: run it again when the definitions change.

declare module "@xfn/functionio/sdk" {
  interface Kinds {
    "platform.example.org/v1alpha1/XDatabase": XDatabase;
  }
}

export interface XDatabase {
  apiVersion: "platform.example.org/v1alpha1";
  kind: "XDatabase";
  metadata: import("@xfn/functionio/sdk").ObjectMeta;
  spec: {
    /** The namespace of the application that the database is for. */
    namespace: string;
    /** How much data it may hold, such as 20Gi. */
    storage: string;
    /** Three replicas instead of one. */
    highlyAvailable?: boolean;
    /** The applications that may connect, by their app.kubernetes.io/name label. */
    clients?: string[];
  };
  status?: {
    /** Where the database is. */
    host?: string;
    /** The secret that holds its user and password. */
    connectionSecret?: string;
  };
}
