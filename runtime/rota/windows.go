package rota

import "strings"

// windowsZones maps names of time zones that Outlook and Exchange write to names that
// calendars elsewhere use. A name stands for the zone of its largest country. The list has
// the zones in which most people live; another one is refused, and the error says which.
var windowsZones = pairs(`
UTC=Etc/UTC
GMT Standard Time=Europe/London
Greenwich Standard Time=Atlantic/Reykjavik
Morocco Standard Time=Africa/Casablanca
W. Europe Standard Time=Europe/Berlin
Central Europe Standard Time=Europe/Budapest
Central European Standard Time=Europe/Warsaw
Romance Standard Time=Europe/Paris
W. Central Africa Standard Time=Africa/Lagos
E. Europe Standard Time=Europe/Chisinau
FLE Standard Time=Europe/Kyiv
GTB Standard Time=Europe/Bucharest
Kaliningrad Standard Time=Europe/Kaliningrad
Egypt Standard Time=Africa/Cairo
South Africa Standard Time=Africa/Johannesburg
Israel Standard Time=Asia/Jerusalem
Jordan Standard Time=Asia/Amman
Middle East Standard Time=Asia/Beirut
Turkey Standard Time=Europe/Istanbul
Arabic Standard Time=Asia/Baghdad
Arab Standard Time=Asia/Riyadh
E. Africa Standard Time=Africa/Nairobi
Russian Standard Time=Europe/Moscow
Belarus Standard Time=Europe/Minsk
Iran Standard Time=Asia/Tehran
Arabian Standard Time=Asia/Dubai
Azerbaijan Standard Time=Asia/Baku
Georgian Standard Time=Asia/Tbilisi
Caucasus Standard Time=Asia/Yerevan
Russia Time Zone 3=Europe/Samara
Mauritius Standard Time=Indian/Mauritius
Afghanistan Standard Time=Asia/Kabul
West Asia Standard Time=Asia/Tashkent
Ekaterinburg Standard Time=Asia/Yekaterinburg
Pakistan Standard Time=Asia/Karachi
India Standard Time=Asia/Kolkata
Sri Lanka Standard Time=Asia/Colombo
Nepal Standard Time=Asia/Kathmandu
Central Asia Standard Time=Asia/Almaty
Bangladesh Standard Time=Asia/Dhaka
Myanmar Standard Time=Asia/Yangon
SE Asia Standard Time=Asia/Bangkok
N. Central Asia Standard Time=Asia/Novosibirsk
China Standard Time=Asia/Shanghai
North Asia Standard Time=Asia/Krasnoyarsk
Singapore Standard Time=Asia/Singapore
Taipei Standard Time=Asia/Taipei
W. Australia Standard Time=Australia/Perth
North Asia East Standard Time=Asia/Irkutsk
Tokyo Standard Time=Asia/Tokyo
Korea Standard Time=Asia/Seoul
Yakutsk Standard Time=Asia/Yakutsk
Cen. Australia Standard Time=Australia/Adelaide
AUS Central Standard Time=Australia/Darwin
E. Australia Standard Time=Australia/Brisbane
AUS Eastern Standard Time=Australia/Sydney
Tasmania Standard Time=Australia/Hobart
West Pacific Standard Time=Pacific/Port_Moresby
Vladivostok Standard Time=Asia/Vladivostok
New Zealand Standard Time=Pacific/Auckland
Fiji Standard Time=Pacific/Fiji
Azores Standard Time=Atlantic/Azores
Cape Verde Standard Time=Atlantic/Cape_Verde
E. South America Standard Time=America/Sao_Paulo
Argentina Standard Time=America/Buenos_Aires
SA Eastern Standard Time=America/Cayenne
Montevideo Standard Time=America/Montevideo
Newfoundland Standard Time=America/St_Johns
Atlantic Standard Time=America/Halifax
SA Western Standard Time=America/La_Paz
Venezuela Standard Time=America/Caracas
Pacific SA Standard Time=America/Santiago
Paraguay Standard Time=America/Asuncion
Eastern Standard Time=America/New_York
US Eastern Standard Time=America/Indiana/Indianapolis
SA Pacific Standard Time=America/Bogota
Cuba Standard Time=America/Havana
Central Standard Time=America/Chicago
Central Standard Time (Mexico)=America/Mexico_City
Central America Standard Time=America/Guatemala
Canada Central Standard Time=America/Regina
Mountain Standard Time=America/Denver
US Mountain Standard Time=America/Phoenix
Pacific Standard Time=America/Los_Angeles
Alaskan Standard Time=America/Anchorage
Hawaiian Standard Time=Pacific/Honolulu
`)

func pairs(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if name, zone, found := strings.Cut(strings.TrimSpace(line), "="); found {
			all[strings.ToLower(name)] = zone
		}
	}
	return all
}
