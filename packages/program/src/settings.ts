// The settings of a command. This entry loads neither logs nor servers, so that `xfn` starts fast.

export { declareSettings, givenFlags } from "./declare-settings.ts";
export { type ListenAddress, listenAddress } from "./listen-address.ts";
export { type GivenFlags, readSettings } from "./read-settings.ts";
export {
  age,
  anyText,
  choice,
  choiceAnyCase,
  cpu,
  duration,
  durationOrNone,
  durationWithin,
  group,
  integer,
  many,
  memory,
  one,
  optional,
  type Reader,
  type Row,
  required,
  type Setting,
  type SettingsOf,
  settings,
  text,
  texts,
  toggle,
  toggleOff,
  variableOf,
} from "./setting.ts";
export {
  CONTAINER_SETTINGS,
  type ContainerSettings,
  LIMIT_SETTINGS,
  type LimitSettings,
  type OperationSettings,
  operationSettings,
  outputSetting,
  pullPolicy,
  REGISTRY_ACCESS_SETTINGS,
  type RegistryAccessSettings,
  STORE_SETTINGS,
  type StoreSettings,
  type TlsClientSettings,
  tlsClientOptions,
  tlsClientSettings,
} from "./shared-settings.ts";
