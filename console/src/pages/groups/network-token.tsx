// What networks report with, tab by tab. The token is fetched when it is asked for, kept out of the
// query cache, and gone after five minutes.
import "./networks.css";
import { useEffect, useState, type ReactNode } from "react";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { api, read } from "~/api/client";
import { BASE_PATH, SERVICE_URL } from "~/base-path";
import { Button } from "~/ui/button";
import { CopyButton } from "~/ui/copy";
import { Command } from "~/ui/command";
import { Card } from "~/ui/page";
import { Tabs } from "~/ui/tabs";
import { showToast } from "~/ui/toast";
import { NETWORKS, type NetworkId } from "./network-ids";
import { NETWORK_NAMES, commandOf, fieldsOf } from "./networks";
import { t } from "~/messages/groups";

const SHOWN_MS = 300_000;
const HIDDEN = "‹token›";
const LOCAL = /^https?:\/\/(localhost|127\.|\[::1\])/;
const TABS = NETWORKS.map((id) => ({ id, label: NETWORK_NAMES[id] }));

function useToken(groupId: string): { token: string | null; show: () => Promise<void>; hide: () => void } {
  const [token, setToken] = useState<string | null>(null);
  useEffect(() => {
    if (token === null) return;
    const timer = setTimeout(() => setToken(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [token]);
  const show = async () => {
    try {
      const [group] = await read(api.GET("/group", { params: { query: { groupId } } }));
      setToken(group?.token ?? "");
    } catch (error) {
      showToast((error as Error).message, { tone: "bad" });
    }
  };
  return { token, show, hide: () => setToken(null) };
}

// Where the form is that the fields below are of.
function Where({ network, groupId }: { network: NetworkId; groupId: string }) {
  switch (network) {
    case "chirpstack":
      return (
        <p>
          {t.rich("WhereInChirpStack", { integrations: <strong>{t("Integrations")}</strong>, http: <strong>{t("HTTP")}</strong> })}
        </p>
      );
    case "ttn":
      return (
        <p>
          {t.rich("WhereInThingsStack", { webhooks: <strong>{t("Webhooks")}</strong>, addWebhook: <strong>{t("AddWebhook")}</strong>, customWebhook: <strong>{t("CustomWebhook")}</strong> })}
        </p>
      );
    case "loriot":
      return (
        <p>
          {t.rich("WhereInLoriot", { output: <strong>{t("Output")}</strong>, addNewOutput: <strong>{t("AddNewOutput")}</strong>, httpPush: <strong>{t("HTTPPush")}</strong> })}
        </p>
      );
    case "thingpark":
      return (
        <p>
          {t.rich("WhereInThingPark", { connections: <strong>{t("Connections")}</strong>, addConnection: <strong>{t("AddConnection")}</strong>, basicHttps: <strong>{t("BasicHTTPS")}</strong> })}
        </p>
      );
    case "vendor":
      return (
        <p>
          {t.rich("WhereAtVendor", { callbacks: <strong>{t("Callbacks")}</strong>, newCallback: <strong>{t("New")}</strong>, customCallback: <strong>{t("CustomCallback")}</strong>, data: <strong>{t("DATA")}</strong>, uplink: <strong>{t("UPLINK")}</strong>, url: <strong>{t("URL")}</strong> })}
        </p>
      );
    case "mqtt":
      return <p>{t("DevicesPublishToBrokerThatOperator")}</p>;
    case "http":
      return (
        <p>
          {t.rich("programOfYoursPostsRecordsOf", { link: <Link to="/g/$groupId/clients" params={{ groupId }}>
            {t("appClient")}
          </Link> })}
        </p>
      );
  }
}

function TryIt({ network }: { network: NetworkId }) {
  switch (network) {
    case "mqtt":
      return <p className="ink-2">{t("TryItFromTerminalWithHost")}</p>;
    case "http":
      return <p className="ink-2">{t("TryItFromTerminalWithAccess")}</p>;
    default:
      return <p className="ink-2">{t("OrTryItFromTerminalFirst")}</p>;
  }
}

const GUIDES: Readonly<Record<NetworkId, string>> = {
  chirpstack: "tutorials/chirpstack",
  ttn: "tutorials/the-things-stack",
  loriot: "guides/networks",
  thingpark: "guides/networks",
  vendor: "tutorials/vendor-network",
  mqtt: "tutorials/mqtt",
  http: "guides/records",
};

function GuideLink({ network, children }: { network: NetworkId; children: ReactNode }) {
  return (
    <a href={`${BASE_PATH}/guide/${GUIDES[network]}/`} target="_blank" rel="noopener">
      {children}
    </a>
  );
}

// On a page that has `network` in its address.
export function NetworkGuide({ groupId }: { groupId: string }) {
  const { network = "chirpstack" } = useSearch({ strict: false }) as { network?: NetworkId };
  const navigate = useNavigate();
  const choose = (next: NetworkId) => void navigate({ to: ".", search: (before: object) => ({ ...before, network: next }), replace: true, resetScroll: false } as never);
  const { token, show, hide } = useToken(groupId);
  const needsToken = network !== "http";
  const isShown = token !== null || !needsToken;
  return (
    <div className="network-guide">
      <Tabs tabs={TABS} current={network} onChoose={choose} label={t("Networks")}>
        <Where network={network} groupId={groupId} />
        <dl className="network-fields">
          {fieldsOf(network, SERVICE_URL, token ?? HIDDEN).map((field) => (
            <div key={`${field.name} ${field.value}`}>
              <dt>{field.name}</dt>
              <dd>
                <code>{field.value}</code> {(isShown || !field.value.includes(HIDDEN)) && <CopyButton text={field.value} />}
              </dd>
            </div>
          ))}
        </dl>
        {needsToken && (
          <p className="network-shown">
            {token === null ? (
              <Button look="primary" onClick={() => void show()}>
                {t("ShowToken")}
              </Button>
            ) : (
              <>
                <span>
                  {t.rich("tokenOfGroupCode", { code: <code>{token}</code> })} <CopyButton text={token} />
                </span>
                <Button onClick={hide}>{t("Hide")}</Button>
              </>
            )}
            <span className="ink-2">{t("WhoeverHasTokenCanReportFor")}</span>
          </p>
        )}
        {LOCAL.test(SERVICE_URL) && needsToken && network !== "mqtt" && (
          <p className="ink-2">{t("OnlyThisMachineReaches", { url: SERVICE_URL })}</p>
        )}
        {isShown && (
          <>
            <TryIt network={network} />
            <Command text={commandOf(network, SERVICE_URL, token ?? "", groupId)} />
          </>
        )}
        <p>
          <GuideLink network={network}>{t("ReadMoreInGuide")}</GuideLink>
        </p>
      </Tabs>
    </div>
  );
}

export function NetworkToken({ groupId }: { groupId: string }) {
  return (
    <Card title={t("Networks")} note={t("whatTheyReportWith")}>
      <NetworkGuide groupId={groupId} />
    </Card>
  );
}
