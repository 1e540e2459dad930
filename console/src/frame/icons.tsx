// Our own signs, drawn with one stroke on a field of 24.
const PATHS = {
  overview: "M4 4h7v7H4z M13 4h7v4h-7z M13 10h7v10h-7z M4 13h7v7H4z",
  alarms: "M12 4 21 19.5H3z M12 10.5v4 M12 17v.2",
  live: "M3 12h4l3-7 4 14 3-7h4",
  devices: "M7 7h10v10H7z M10 3.5V7 M14 3.5V7 M10 17v3.5 M14 17v3.5 M3.5 10H7 M3.5 14H7 M17 10h3.5 M17 14h3.5",
  map: "M9 5 3.5 7v12L9 17l6 2 5.5-2V5L15 7z M9 5v12 M15 7v12",
  explore: "M4 4v16h16 M7.5 15l3.5-4 3 2.5L19 8",
  connectors: "M3.5 12H15 M11 8l4 4-4 4 M14 4.5h6v15h-6",
  messages: "M21 4 3 11l7 3 3 7z M21 4 10 14",
  notifications: "M6 16.5V11a6 6 0 0 1 12 0v5.5l1.5 1.5h-15z M10 20.5h4",
  contactPoints: "M6 3.5h13v17H6z M12.5 12a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4z M9 17c.5-2 1.8-3 3.5-3s3 1 3.5 3 M3.5 8H6 M3.5 16H6",
  reports: "M6 3.5h8l4 4v13H6z M14 3.5v4h4 M9 12h6 M9 16h6",
  sharedViews: "M6 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z M17.5 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z M17.5 21a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z M8.1 10.7l7.3-3.9 M8.1 13.3l7.3 3.9",
  jobs: "M4 6.5l1.5 1.5L8 5 M11 6.5h9 M4 12.5 5.5 14 8 11 M11 12.5h9 M4 18.5 5.5 20 8 17 M11 18.5h9",
  people: "M9 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z M2.5 20c.6-3.7 3-5.5 6.5-5.5s5.9 1.8 6.5 5.5 M15.5 4.9a3.5 3.5 0 0 1 0 6.2 M18 14.8c2 .8 3.2 2.7 3.5 5.2",
  clients: "M7.5 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8z M11.5 12H21 M17.5 12v3.5 M21 12v3",
  audit: "M4.6 12a7.5 7.5 0 1 0 2.3-5.4L4.6 8.8 M4.6 4.5v4.3h4.3 M12 8v4.5l3 1.8",
  settings: "M4 7h8.8 M17.2 7H20 M15 9.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4z M4 17h2.8 M11.2 17H20 M9 19.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4z",
  groups: "M9 3.5h6v5H9z M3 15.5h6v5H3z M15 15.5h6v5h-6z M12 8.5V12 M6 15.5V12h12v3.5",
  types: "M12 3l8 4.5v9L12 21l-8-4.5v-9z M4 7.5l8 4.5 8-4.5 M12 12v9",
  roles: "M12 3.5l7 2.5v5c0 4.5-2.8 7.8-7 9.5-4.2-1.7-7-5-7-9.5V6z M9 11.8l2.2 2.2 3.8-4.2",
  platform: "M4 4.5h16v6H4z M4 13.5h16v6H4z M7.5 7.5h1 M7.5 16.5h1 M13 7.5h4 M13 16.5h4",
  more: "M4 7h16 M4 12h16 M4 17h16",
  find: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13z M15.3 15.3l5.2 5.2",
  narrower: "M4 5h16v14H4z M9.5 5v14 M16 9.5 13.5 12l2.5 2.5",
  wider: "M4 5h16v14H4z M9.5 5v14 M13.5 9.5 16 12l-2.5 2.5",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="section-icon" viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
